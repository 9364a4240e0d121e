/* The grid search in C: the same search as `service/engine/grid_search.py`, node for node. */

#define MOST_KINDS 52
#define MOST_STEPS (2 * MOST_CARDS)
enum { READING, COLUMNS, IN_PLACE, FILL_FIRST };

typedef struct {
    unsigned char a, b;                 /* b is 255 where a goes alone */
    int then;                           /* where the removals of the cells after a begin */
} grid_removal;

typedef struct {
    unsigned char cells[MOST_CELLS];    /* the kind of card on each, 255 none */
    int dealt, left;                    /* cards dealt so far, cards not removed */
} grid;

typedef struct {
    const shape *s;
    int packing, columns, pruned;
    unsigned char *table;               /* positions that were visited, `entry` bytes each: 0 or 1 + verdict, dealt, cells */
    size_t capacity, used, entry;
    unsigned long long nodes, until, budget, tries;
    grid_removal *removals;             /* of all waves that are being tried */
    int listed, most_listed;
    unsigned char steps[MOST_STEPS][2]; /* the removals and close-ups on the way */
    int depth;
    mask128 reach[MOST_CELLS];          /* for each cell those near it */
    unsigned char is_loose[MOST_CELLS];
    unsigned char coming[MOST_CARDS + 1][MOST_KINDS]; /* by cards dealt: how many partners of a kind are in the stock */
} grid_search;

static unsigned char *grid_find(const grid_search *q, unsigned char *table, size_t capacity, const unsigned char *key) {
    size_t length = q->entry - 1, i;
    uint64_t h = 0;
    for (i = 0; i < length; i++) h = (h ^ key[i]) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    for (i = (size_t)h & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
        unsigned char *place = table + i * q->entry;
        if (!place[0] || !memcmp(place + 1, key, length)) return place;
    }
}

static int grid_grow(grid_search *q) {
    size_t capacity = q->capacity * 2, i;
    unsigned char *table = calloc(capacity, q->entry);
    if (!table) return 0;
    for (i = 0; i < q->capacity; i++) {
        const unsigned char *from = q->table + i * q->entry;
        if (from[0]) memcpy(grid_find(q, table, capacity, from + 1), from, q->entry);
    }
    free(q->table);
    q->table = table;
    q->capacity = capacity;
    return 1;
}

static int grid_deal(const grid_search *q, grid *g, int cell) {
    if (g->cells[cell] != GAP || g->dealt == q->s->cards) return 0;
    g->cells[cell] = q->s->order[g->dealt++];
    return 1;
}

/* Move the cards of every `step`-th cell from the first on together. Returns whether one moved. */
static int grid_pack(grid *g, int first, int step, int cells) {
    int from, to = first, moved = 0;
    for (from = first; from < cells; from += step) {
        unsigned char card = g->cells[from];
        if (card == GAP) continue;
        if (from != to) {
            g->cells[from] = GAP;
            g->cells[to] = card;
            moved = 1;
        }
        to += step;
    }
    return moved;
}

/* Close up and refill; a and b are the cells just emptied, which count in place only. Returns whether anything changed. */
static int grid_close(const grid_search *q, grid *g, int a, int b) {
    int cells = q->s->cells, changed = 0, i;
    if (q->packing == IN_PLACE) {
        changed |= grid_deal(q, g, a);
        if (b != GAP) changed |= grid_deal(q, g, b);
        return changed;
    }
    if (q->packing == FILL_FIRST)
        for (i = 0; i < cells; i++) changed |= grid_deal(q, g, i);
    if (q->packing == COLUMNS)
        for (i = 0; i < q->columns; i++) changed |= grid_pack(g, i, q->columns, cells);
    else
        changed |= grid_pack(g, 0, 1, cells);
    for (i = 0; i < cells; i++) changed |= grid_deal(q, g, i);
    return changed;
}

static void grid_remove(grid *g, int a, int b) {
    g->cells[a] = GAP;
    g->left--;
    if (b == GAP) return;
    g->cells[b] = GAP;
    g->left--;
}

static int grid_visit(grid_search *q, const grid *g);

typedef struct {
    grid_search *q;
    const grid *g;
    int from, to;
    int may_close;
} grid_wave;

static int grid_list(grid_wave *w) {
    grid_search *q = w->q;
    const shape *s = q->s;
    const unsigned char *on = w->g->cells;
    int a, i, at = q->listed;
    w->from = at;
    for (a = 0; a < s->cells; a++) {
        const unsigned char *near = s->near + s->near_at[a];
        int first = at;
        if (on[a] == GAP) continue;
        if (at + near[0] + 1 > q->most_listed) {
            int most = 2 * q->most_listed + near[0] + 1;
            grid_removal *more = realloc(q->removals, (size_t)most * sizeof(*more));
            if (!more) return 0;
            q->removals = more;
            q->most_listed = most;
        }
        for (i = 1; i <= near[0]; i++) {
            if (on[near[i]] == GAP || !s->pairs[on[a] * s->kinds + on[near[i]]]) continue;
            q->removals[at].a = (unsigned char)a;
            q->removals[at++].b = near[i];
        }
        if (s->singles[on[a]]) {
            q->removals[at].a = (unsigned char)a;
            q->removals[at++].b = GAP;
        }
        while (first < at) q->removals[first++].then = at;
    }
    w->to = q->listed = at;
    return 1;
}

static mask128 grid_cells(grid_removal r) {
    return (mask128)1 << r.a | (r.b == GAP ? 0 : (mask128)1 << r.b);
}

/* Close up by itself after a removal, and go on from there. */
static int grid_auto(grid_search *q, const grid *g, int a, int b) {
    grid next = *g;
    int found, depth = q->depth;
    q->steps[q->depth][0] = (unsigned char)a;
    q->steps[q->depth++][1] = (unsigned char)b;
    grid_remove(&next, a, b);
    grid_close(q, &next, a, b);
    found = grid_visit(q, &next);
    if (found == LOST) q->depth = depth;
    return found;
}

/* End a wave that left this. */
static int grid_end(grid_search *q, const grid *after) {
    grid next = *after;
    int found, depth = q->depth;
    if (next.left == q->s->left) return WON;
    /* Where only the end of the grid is emptied and the stock is out, nothing closes up, and the wave goes on. */
    if (grid_close(q, &next, 0, 0)) {
        q->steps[q->depth][0] = q->steps[q->depth][1] = CLOSE_UP;
        q->depth++;
    }
    found = grid_visit(q, &next);
    if (found == LOST) q->depth = depth;
    return found;
}

/* Try every set of removals that begins with `taken` and goes on from one of them: first those that take it. */
static int grid_try(const grid_wave *w, int from, mask128 taken, const grid *after) {
    grid_search *q = w->q;
    const shape *s = q->s;
    int i, found, depth = q->depth;
    for (i = from; i < w->to; i++) {
        grid_removal r = q->removals[i];
        if (taken & grid_cells(r)) continue;
        if (s->mode == AUTO) {
            found = grid_auto(q, w->g, r.a, r.b);
            if (!found && q->packing == IN_PLACE && r.b != GAP) found = grid_auto(q, w->g, r.b, r.a);
        } else {
            grid next = *after;
            grid_remove(&next, r.a, r.b);
            q->steps[q->depth][0] = r.a;
            q->steps[q->depth++][1] = r.b;
            found = grid_try(w, r.then, taken | grid_cells(r), &next);
            if (found == LOST) q->depth = depth;
        }
        if (found) return found;
    }
    if (++q->tries > q->budget * TRIES) return UNDECIDED;
    if (s->mode == AUTO || !(taken || w->may_close)) return LOST;
    if (s->mode == WAVE)
        for (i = w->from; i < w->to; i++)
            if (!(taken & grid_cells(q->removals[i]))) return LOST;
    return grid_end(q, after);
}

static int grid_try_all(grid_search *q, const grid *g, int may_close) {
    grid_wave w = {q, g, 0, 0, may_close};
    int found;
    if (!grid_list(&w)) return NO_MEMORY;
    found = grid_try(&w, w.from, 0, g);
    q->listed = w.from;
    return found;
}

/* Say whether two cards on the grid could come near each other, with any of the loose cards above them gone. */
static int grid_may_meet(const grid_search *q, const unsigned char *loose_above, int a, int b) {
    int columns = q->columns, same = a % columns == b % columns, low = loose_above[a], high = loose_above[b], i, j;
    int between = high - low > q->is_loose[a] ? high - low - q->is_loose[a] : 0;
    for (i = 0; i <= low; i++)
        for (j = 0; j <= high; j++) {
            int up = a - i * columns, other = b - j * columns;
            /* In one column the lower card climbs as far as the upper one, and so much more as goes between them. */
            if (same && (j < i || j - i > between)) continue;
            if (q->reach[up] >> other & 1) return 1;
        }
    return 0;
}

/* Say whether more cards on the grid can never be removed than may be left, even if all that can ever go may be gone.

   Cards on the grid keep their column, or their cell. One that can meet no partner on the grid needs one from the
   stock, and each needs its own. */
static int grid_stuck(grid_search *q, const grid *g) {
    const shape *s = q->s;
    int cells = s->cells, columns = q->columns, kinds = s->kinds, stuck = 0, changed, a, b;
    int waiting[MOST_KINDS] = {0};
    const unsigned char *coming = q->coming[g->dealt];
    unsigned char loose_above[MOST_CELLS], met[MOST_CELLS];
    if (q->packing != COLUMNS && q->packing != IN_PLACE) return 0;
    for (a = 0; a < cells; a++) {
        met[a] = 0;
        q->is_loose[a] = g->cells[a] != GAP && (s->singles[g->cells[a]] || coming[g->cells[a]]);
    }
    do {
        changed = 0;
        for (a = 0; a < cells; a++) {
            loose_above[a] = 0;
            if (q->packing == COLUMNS && a >= columns)
                loose_above[a] = (unsigned char)(loose_above[a - columns] + q->is_loose[a - columns]);
        }
        for (a = 0; a < cells; a++) {
            if (g->cells[a] == GAP) continue;
            for (b = a + 1; b < cells; b++) {
                if (g->cells[b] == GAP || (met[a] && met[b]) || !s->pairs[g->cells[a] * kinds + g->cells[b]]) continue;
                if (!grid_may_meet(q, loose_above, a, b)) continue;
                changed |= !q->is_loose[a] || !q->is_loose[b];
                met[a] = met[b] = q->is_loose[a] = q->is_loose[b] = 1;
            }
        }
    } while (changed);
    for (a = 0; a < cells; a++)
        if (g->cells[a] != GAP && !met[a] && !s->singles[g->cells[a]]) waiting[g->cells[a]]++;
    for (a = 0; a < kinds; a++)
        if (waiting[a] > coming[a]) stuck += waiting[a] - coming[a];
    return stuck > s->left;
}

/* Search from a position between two waves. */
static int grid_visit(grid_search *q, const grid *g) {
    unsigned char key[MOST_CELLS + 1], *place;
    int found;
    if (g->left == q->s->left) return WON;
    if (q->used * 4 >= q->capacity * 3 && !grid_grow(q)) return NO_MEMORY;
    key[0] = (unsigned char)g->dealt;
    memcpy(key + 1, g->cells, (size_t)q->s->cells);
    place = grid_find(q, q->table, q->capacity, key);
    if (place[0] && place[0] != 1 + UNDECIDED) return place[0] - 1;
    if (q->nodes >= q->until) return UNDECIDED;
    q->nodes++;
    q->used += !place[0];
    place[0] = 1 + LOST;
    memcpy(place + 1, key, q->entry - 1);
    if (q->pruned && grid_stuck(q, g)) return LOST;
    found = grid_try_all(q, g, 0);
    /* What was left half searched must not pass for lost. */
    if (found == WON || found == UNDECIDED) grid_find(q, q->table, q->capacity, key)[0] = (unsigned char)(1 + found);
    return found;
}

/* Decide what comes of a plan: a count, then as many removals of two bytes. */
static int grid_plan(grid_search *q, const grid *g, const unsigned char *plan, int may_close) {
    grid after = *g;
    int i;
    if (q->s->mode == AUTO) return grid_auto(q, g, plan[1], plan[2]);
    for (i = 0; i < plan[0]; i++) grid_remove(&after, plan[1 + 2 * i], plan[2 + 2 * i]);
    return plan[0] || may_close ? grid_end(q, &after) : LOST;
}

/* search_grid(near, pairs, singles, mode, left, packing, columns, pruned, order, cells, dealt, may_close, plans, budget)
       -> (verdicts, nodes, steps)

   Cards are of kinds: those of one kind have the same partners. What is not told here is as for `search`.

   packing: 0 reading, 1 columns, 2 in-place, 3 fill-first; columns: of the grid
   pruned: whether positions are looked at for cards that are stuck
   order: the kind of each card of the deal; cells: the kind of the card on each cell or 255
   dealt: how many cards of the order are dealt
   plans: for each a count and as many removals of two cells, the second 255 for a card that goes alone; if there are
       none, the position on the cells is decided
   budget: how many positions may be visited for each plan
   steps: removals as in plans, and 254 twice for a close-up, on the way to the win of the last plan
*/
static PyObject *search_grid(PyObject *module, PyObject *args) {
    const char *near, *pairs, *singles, *order, *cells, *plans;
    Py_ssize_t near_size, pairs_size, kinds, cards, cells_size, plans_size, at, i;
    int mode, left, packing, columns, pruned, dealt, may_close, found = LOST, count = 0;
    unsigned long long budget;
    shape s;
    grid root;
    grid_search *q = NULL;
    unsigned char *verdicts = NULL;
    PyObject *answer = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#y#y#iiiipy#y#ipy#K", &near, &near_size, &pairs, &pairs_size, &singles, &kinds, &mode, &left,
                          &packing, &columns, &pruned, &order, &cards, &cells, &cells_size, &dealt, &may_close, &plans, &plans_size,
                          &budget))
        return NULL;
    if (pairs_size != kinds * kinds || kinds > MOST_KINDS || cards > MOST_CARDS || !read_shape(&s, near, near_size, mode, left, (int)cards) ||
        cells_size != s.cells || dealt < 0 || dealt > cards || packing < READING || packing > FILL_FIRST || columns < 1 ||
        columns > s.cells)
        goto bad;
    for (i = 0; i < cards; i++)
        if ((unsigned char)order[i] >= kinds) goto bad;
    memset(&root, 0, sizeof(root));
    root.dealt = dealt;
    root.left = (int)cards - dealt;
    for (i = 0; i < s.cells; i++) {
        root.cells[i] = (unsigned char)cells[i];
        if (root.cells[i] == GAP) continue;
        if (root.cells[i] >= kinds) goto bad;
        root.left++;
    }
    for (at = 0; at < plans_size; at += 1 + 2 * (unsigned char)plans[at], count++) {
        int removals = (unsigned char)plans[at];
        mask128 taken = 0;
        if (at + 1 + 2 * removals > plans_size || (mode == AUTO && removals != 1)) goto bad;
        for (i = at + 1; i <= at + 2 * removals; i++) {
            int cell = (unsigned char)plans[i];
            if (cell == GAP && (i - at) % 2 == 0) continue;
            if (cell >= s.cells || root.cells[cell] == GAP || taken >> cell & 1) goto bad;
            taken |= (mask128)1 << cell;
        }
    }
    s.pairs = pairs;
    s.singles = singles;
    s.order = (const unsigned char *)order;
    s.kinds = (int)kinds;
    q = calloc(1, sizeof(*q));
    verdicts = calloc((size_t)count + 1, 1);
    if (!q || !verdicts) goto no_memory;
    q->s = &s;
    q->packing = packing;
    q->columns = columns;
    q->pruned = pruned;
    q->budget = q->until = budget;
    for (i = cards - 1; i >= 0; i--) {
        int kind;
        for (kind = 0; kind < kinds; kind++)
            q->coming[i][kind] = (unsigned char)(q->coming[i + 1][kind] + pairs[kind * kinds + order[i]]);
    }
    for (i = 0; i < s.cells; i++) {
        const unsigned char *later = s.near + s.near_at[i];
        int j;
        for (j = 1; j <= later[0]; j++) {
            q->reach[i] |= (mask128)1 << later[j];
            q->reach[later[j]] |= (mask128)1 << i;
        }
    }
    q->entry = (size_t)s.cells + 2;
    q->capacity = 256;
    q->table = calloc(q->capacity, q->entry);
    if (!q->table) goto no_memory;
    Py_BEGIN_ALLOW_THREADS
    if (!count) verdicts[0] = (unsigned char)(found = grid_try_all(q, &root, may_close));
    for (at = 0, i = 0; i < count && found != NO_MEMORY; at += 1 + 2 * (unsigned char)plans[at], i++) {
        q->depth = 0;
        q->tries = 0;
        q->until = q->nodes + budget;
        verdicts[i] = (unsigned char)(found = grid_plan(q, &root, (const unsigned char *)plans + at, may_close));
    }
    Py_END_ALLOW_THREADS
    if (found == NO_MEMORY) goto no_memory;
    answer = Py_BuildValue("y#Ky#", (const char *)verdicts, (Py_ssize_t)(count ? count : 1), q->nodes, (const char *)q->steps,
                           (Py_ssize_t)q->depth * 2);
    goto done;
bad:
    PyErr_SetString(PyExc_ValueError, "not a search");
    return NULL;
no_memory:
    PyErr_NoMemory();
done:
    if (q) {
        free(q->table);
        free(q->removals);
    }
    free(q);
    free(verdicts);
    return answer;
}
