/* The search for masks of one width: included once for 64 bits and once for 128. No include guard. */

typedef struct {
    MASK cards;
    int then;                           /* where the removals of the cells after its first begin */
} NAME(removal);

typedef struct {
    const shape *s;
    MASK partners[MOST_CARDS];
    MASK singles;
    MASK *table;                        /* positions that were visited; 0 is a free place */
    unsigned char *verdicts;            /* for each place of the table */
    size_t capacity, used;
    unsigned long long nodes, until;    /* positions visited, and at how many the search is given up */
    unsigned long long budget;          /* how many may be visited for each position to decide */
    unsigned long long tries;           /* sets of removals tried, which are bounded too */
    MASK path[MOST_CARDS + 2];          /* every step takes a card; the first and the last position stand in it too */
    int depth;
    NAME(removal) *removals;            /* of all waves that are being tried */
    int listed, most_listed;
    MASK spans, from[MOST_CARDS];       /* how far apart near cells are in reading order, and from which cells */
    unsigned char pairs[MOST_CARDS * MOST_CARDS / 2][2];
} NAME(search);

static int NAME(count)(MASK m) {
    int n = __builtin_popcountll((unsigned long long)m);
    if (sizeof(MASK) > 8) n += __builtin_popcountll((unsigned long long)(m >> (sizeof(MASK) * 4)));
    return n;
}

static int NAME(lowest)(MASK m) {
    unsigned long long low = (unsigned long long)m;
    if (sizeof(MASK) > 8 && !low) return 64 + __builtin_ctzll((unsigned long long)(m >> (sizeof(MASK) * 4)));
    return __builtin_ctzll(low);
}

static size_t NAME(slot)(MASK m, size_t capacity) {
    uint64_t h = (uint64_t)m;
    if (sizeof(MASK) > 8) h ^= (uint64_t)(m >> (sizeof(MASK) * 4)) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return (size_t)h & (capacity - 1);
}

static size_t NAME(find)(const MASK *table, size_t capacity, MASK m) {
    size_t i = NAME(slot)(m, capacity);
    while (table[i] && table[i] != m) i = (i + 1) & (capacity - 1);
    return i;
}

static int NAME(grow)(NAME(search) *q) {
    size_t capacity = q->capacity * 2, i, to;
    MASK *table = calloc(capacity, sizeof(MASK));
    unsigned char *verdicts = calloc(capacity, 1);
    if (!table || !verdicts) {
        free(table);
        free(verdicts);
        return 0;
    }
    for (i = 0; i < q->capacity; i++) {
        if (!q->table[i]) continue;
        to = NAME(find)(table, capacity, q->table[i]);
        table[to] = q->table[i];
        verdicts[to] = q->verdicts[i];
    }
    free(q->table);
    free(q->verdicts);
    q->table = table;
    q->verdicts = verdicts;
    q->capacity = capacity;
    return 1;
}

static int NAME(visit)(NAME(search) *q, MASK left);

/* One wave: its removals stand in reading order in `removals`, from one place up to another. */
typedef struct {
    NAME(search) *q;
    MASK left;
    int from, to;
    int may_close;                      /* whether the wave may remove nothing: the grid has gaps to close */
} NAME(wave);

/* List the removals on a grid: `on` says which card lies on each cell, 255 none. */
static int NAME(list)(NAME(wave) *w, const unsigned char *on) {
    NAME(search) *q = w->q;
    const shape *s = q->s;
    int a, i, at = q->listed;
    w->from = at;
    for (a = 0; a < s->cells; a++) {
        const unsigned char *near = s->near + s->near_at[a];
        MASK card, partners;
        int first = at;
        if (on[a] == 255) continue;
        if (at + near[0] + 1 > q->most_listed) {
            int most = 2 * q->most_listed + near[0] + 1;
            NAME(removal) *more = realloc(q->removals, (size_t)most * sizeof(*more));
            if (!more) return 0;
            q->removals = more;
            q->most_listed = most;
        }
        card = (MASK)1 << on[a];
        partners = q->partners[on[a]] & w->left;
        for (i = 1; partners && i <= near[0]; i++)
            if (on[near[i]] != 255 && partners >> on[near[i]] & 1)
                q->removals[at++].cards = card | (MASK)1 << on[near[i]];
        if (q->singles & card) q->removals[at++].cards = card;
        while (first < at) q->removals[first++].then = at;
    }
    w->to = q->listed = at;
    return 1;
}

/* Try every set of removals that begins with `taken` and goes on from one of them: first those that take it. */
static int NAME(try_from)(const NAME(wave) *w, int from, MASK taken) {
    NAME(search) *q = w->q;
    int i, found;
    for (i = from; i < w->to; i++) {
        MASK cards = q->removals[i].cards;
        if (taken & cards) continue;
        found = q->s->mode == AUTO ? NAME(visit)(q, w->left & ~cards)
                                   : NAME(try_from)(w, q->removals[i].then, taken | cards);
        if (found || q->s->commute) return found;
    }
    if (++q->tries > q->budget * TRIES) return UNDECIDED;
    if (q->s->mode == AUTO || !(taken || w->may_close)) return LOST;
    if (q->s->mode == WAVE)
        for (i = w->from; i < w->to; i++)
            if (!(taken & q->removals[i].cards)) return LOST;
    return NAME(visit)(q, w->left & ~taken);
}

/* Say whether some card can never be removed, even if all that can ever go may be out of its way where it helps.

   A card is loose if it goes alone, or if it could come near a partner with some of the loose cards before and
   between the two gone. What more is loose makes more loose, so this comes to an end; what is not loose then stays. */
static int NAME(stuck)(NAME(search) *q, MASK left, int n) {
    unsigned char at[MOST_CARDS], is_loose[MOST_CARDS], loose_before[MOST_CARDS];
    MASK rest = left;
    int count = 0, loose = 0, was, i;
    for (i = 0; i < n; i++, rest &= rest - 1) {
        int card = NAME(lowest)(rest);
        MASK mates = q->partners[card] & left & (((MASK)1 << card) - 1);
        at[card] = (unsigned char)i;
        is_loose[i] = (unsigned char)(q->singles >> card & 1);
        loose += is_loose[i];
        for (; mates; mates &= mates - 1) {
            q->pairs[count][0] = at[NAME(lowest)(mates)];
            q->pairs[count++][1] = (unsigned char)i;
        }
    }
    do {
        int kept = 0, k, before = 0;
        was = loose;
        for (i = 0; i < n; i++) {
            loose_before[i] = (unsigned char)before;
            before += is_loose[i];
        }
        for (k = 0; k < count; k++) {
            int a = q->pairs[k][0], b = q->pairs[k][1], apart = b - a;
            int nearest = apart - (loose_before[b] - loose_before[a] - is_loose[a]);
            MASK cells, spans;
            if (is_loose[a] && is_loose[b]) continue;
            if (nearest < 1) nearest = 1; /* cards found loose in this round are not counted before them */
            cells = (((MASK)2 << a) - 1) >> (a - loose_before[a]) << (a - loose_before[a]);
            spans = (q->spans & (((MASK)2 << apart) - 1)) >> nearest << nearest;
            while (spans && !(q->from[NAME(lowest)(spans)] & cells)) spans &= spans - 1;
            if (spans) {
                loose += 2 - is_loose[a] - is_loose[b];
                is_loose[a] = is_loose[b] = 1;
            } else {
                q->pairs[kept][0] = (unsigned char)a;
                q->pairs[kept++][1] = (unsigned char)b;
            }
        }
        count = kept;
    } while (loose != was && loose != n);
    return n - loose > q->s->left;
}

/* Search from a position between two waves. */
static int NAME(visit)(NAME(search) *q, MASK left) {
    unsigned char on[MOST_CELLS];
    NAME(wave) w;
    MASK rest = left;
    size_t place;
    int a, found, n = NAME(count)(left);
    if (n == q->s->left) {
        q->path[q->depth++] = left;
        return WON;
    }
    if (q->used * 2 >= q->capacity && !NAME(grow)(q)) return NO_MEMORY;
    place = NAME(find)(q->table, q->capacity, left);
    if (q->table[place] && q->verdicts[place] != UNDECIDED) return q->verdicts[place];
    if (q->nodes >= q->until) return UNDECIDED;
    q->nodes++;
    q->used += !q->table[place];
    q->table[place] = left;
    q->verdicts[place] = LOST;
    if (n <= q->s->checked && NAME(stuck)(q, left, n)) return LOST;
    for (a = 0; a < q->s->cells; a++) {
        if (rest) {
            on[a] = (unsigned char)NAME(lowest)(rest);
            rest &= rest - 1;
        } else {
            on[a] = 255;
        }
    }
    w.q = q;
    w.left = left;
    w.may_close = 0;
    if (!NAME(list)(&w, on)) return NO_MEMORY;
    q->path[q->depth++] = left;
    found = NAME(try_from)(&w, w.from, 0);
    q->listed = w.from;
    if (found == LOST) q->depth--;
    /* What was left half searched must not pass for lost. */
    if (found == WON || found == UNDECIDED) q->verdicts[NAME(find)(q->table, q->capacity, left)] = (unsigned char)found;
    return found;
}

static MASK NAME(read)(const char *bytes) {
    MASK m = 0;
    int i;
    for (i = (int)sizeof(MASK) - 1; i >= 0; i--) m = (m << 8) | (MASK)(unsigned char)bytes[i];
    return m;
}

static PyObject *NAME(run)(const shape *s, const char *cells, int may_close, const char *waves, int wave_count, unsigned long long budget) {
    NAME(search) *q = calloc(1, sizeof(*q));
    unsigned char *verdicts = calloc((size_t)(wave_count ? wave_count : 1), 1);
    PyObject *answer = NULL;
    NAME(wave) w;
    int i, found = LOST;
    if (!q || !verdicts) goto no_memory;
    q->s = s;
    q->budget = q->until = budget;
    q->capacity = 1024;
    q->table = calloc(q->capacity, sizeof(MASK));
    q->verdicts = calloc(q->capacity, 1);
    if (!q->table || !q->verdicts) goto no_memory;
    for (i = 0; i < s->cards; i++) {
        MASK card = (MASK)1 << i;
        int j;
        if (s->singles[s->order[i]]) q->singles |= card;
        for (j = 0; j < i; j++) {
            if (!s->pairs[s->order[i] * s->kinds + s->order[j]]) continue;
            q->partners[i] |= (MASK)1 << j;
            q->partners[j] |= card;
        }
    }
    for (i = 0; i < s->cells; i++) {
        const unsigned char *near = s->near + s->near_at[i];
        int j;
        for (j = 1; j <= near[0]; j++) {
            q->spans |= (MASK)1 << (near[j] - i);
            q->from[near[j] - i] |= (MASK)1 << i;
        }
    }
    w.q = q;
    w.left = NAME(read)(cells + s->cells);
    w.may_close = may_close;
    if (!wave_count && !NAME(list)(&w, (const unsigned char *)cells)) goto no_memory;
    Py_BEGIN_ALLOW_THREADS
    if (wave_count) {
        /* Each by itself, all with one memory: what is lost from one is lost from another. */
        for (i = 0; i < wave_count && found != NO_MEMORY; i++) {
            q->depth = 0;
            q->tries = 0;
            q->until = q->nodes + budget;
            verdicts[i] = (unsigned char)(found = NAME(visit)(q, NAME(read)(waves + 16 * i)));
        }
    } else {
        found = NAME(try_from)(&w, w.from, 0);
        verdicts[0] = (unsigned char)found;
    }
    Py_END_ALLOW_THREADS
    if (found == NO_MEMORY) goto no_memory;
    {
        PyObject *path = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)q->depth * 16);
        if (path) {
            for (i = 0; i < q->depth; i++) {
                char *at = PyBytes_AsString(path) + 16 * i;
                MASK m = q->path[i];
                int b;
                for (b = 0; b < 16; b++, m = b < (int)sizeof(MASK) ? m >> 8 : 0) at[b] = (char)(unsigned char)m;
            }
            answer = Py_BuildValue("y#KN", (const char *)verdicts, (Py_ssize_t)(wave_count ? wave_count : 1), q->nodes, path);
        }
    }
    goto done;
no_memory:
    PyErr_NoMemory();
done:
    if (q) {
        free(q->table);
        free(q->verdicts);
        free(q->removals);
    }
    free(q);
    free(verdicts);
    return answer;
}
