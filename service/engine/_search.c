/* The two searches in C. The grid search is in `_search_grid.h`.

   The mask search: the same search as `service/engine/search.py`, node for node.

   A position between two waves is a subset of the pack in its order, so a mask of 64 bits (one deck) or 128 (two)
   says all of it. The search is depth first over the sets of cards that a wave can remove, and remembers the
   positions it has been in. It runs without the interpreter's lock. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CARDS 104
#define MOST_CELLS 100
#define TRIES 32                            /* for each position that may be visited */

enum { FREE, WAVE, AUTO };
enum { LOST, WON, UNDECIDED, NO_MEMORY };
enum { GAP = 255, CLOSE_UP = 254 };

typedef unsigned __int128 mask128;

/* What both widths share: the shape of the grid. */
typedef struct {
    int cells;                          /* of the grid */
    int cards;                          /* in the pack */
    int mode;
    int left;                           /* cards left when the game is won */
    int checked;                        /* up to how many cards left a position is looked at for cards that are stuck */
    int commute;                        /* whether any removal is as good as another */
    const unsigned char *near;          /* for each cell: how many later cells are near, then which */
    int near_at[MOST_CELLS];
    const unsigned char *order;         /* the number of each card */
    const char *pairs, *singles;        /* by numbers */
    int kinds;                          /* how many numbers there are */
} shape;

#define MASK uint64_t
#define NAME(name) name##_64
#include "_search_width.h"
#undef MASK
#undef NAME

#define MASK mask128
#define NAME(name) name##_128
#include "_search_width.h"
#undef MASK
#undef NAME

static int read_shape(shape *s, const char *near, Py_ssize_t near_size, int mode, int left, int cards) {
    int at = 0;
    s->near = (const unsigned char *)near;
    s->cells = 0;
    s->mode = mode;
    s->left = left;
    s->cards = cards;
    while (at < near_size) {
        if (s->cells == MOST_CELLS) return 0;
        s->near_at[s->cells++] = at;
        at += 1 + s->near[at];
    }
    return at == near_size && cards > 0 && cards <= MOST_CARDS && mode >= FREE && mode <= AUTO;
}

#include "_search_grid.h"

/* search(near, pairs, singles, mode, left, checked, commute, order, cells, may_close, waves, budget)
       -> (verdicts, nodes, path)

   Cards are numbered; equal cards of two decks have one number.

   near: bytes, for each cell how many later cells are near and then which
   pairs: for each number a byte for each number, 1 where the two make a pair
   singles: for each number a byte, 1 where the card is removed alone
   mode: 0 free, 1 wave, 2 auto; left: how many cards are left when the game is won
   checked: up to how many cards left a position is looked at for cards that are stuck
   commute: whether any removal is as good as another, so that one is enough to try
   order: the number of each card of the deal
   cells: for each cell the place in the order of the card on it or 255, then 16 bytes, the mask of all cards not removed
   may_close: whether the first wave may remove nothing
   waves: 16 bytes for each position between waves to decide; if there are none, the position on the cells is decided
   budget: how many positions may be visited for each position to decide
   path: 16 bytes for each position between waves on the way to the win of the last
*/
static PyObject *search(PyObject *module, PyObject *args) {
    const char *near, *pairs, *singles, *order, *cells, *waves;
    Py_ssize_t near_size, pairs_size, kinds, cards, cells_size, waves_size, i;
    int mode, left, checked, commute, may_close;
    unsigned long long budget;
    shape s;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#y#y#iiipy#y#py#K", &near, &near_size, &pairs, &pairs_size, &singles, &kinds, &mode, &left,
                          &checked, &commute, &order, &cards, &cells, &cells_size, &may_close, &waves, &waves_size, &budget))
        return NULL;
    if (pairs_size != kinds * kinds || cards > MOST_CARDS || waves_size % 16 ||
        !read_shape(&s, near, near_size, mode, left, (int)cards) || cells_size != s.cells + 16)
        goto bad;
    for (i = 0; i < cards; i++)
        if ((unsigned char)order[i] >= kinds) goto bad;
    for (i = 0; i < s.cells; i++)
        if ((unsigned char)cells[i] != 255 && (unsigned char)cells[i] >= cards) goto bad;
    s.checked = checked;
    s.commute = commute;
    s.pairs = pairs;
    s.singles = singles;
    s.order = (const unsigned char *)order;
    s.kinds = (int)kinds;
    if (s.cards <= 64)
        return run_64(&s, cells, may_close, waves, (int)(waves_size / 16), budget);
    return run_128(&s, cells, may_close, waves, (int)(waves_size / 16), budget);
bad:
    PyErr_SetString(PyExc_ValueError, "not a search");
    return NULL;
}

static PyMethodDef methods[] = {
    {"search_grid", search_grid, METH_VARARGS, "Search as service.engine.grid_search does."},
    {"search", search, METH_VARARGS, "Search as service.engine.search does."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_search", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__search(void) { return PyModule_Create(&definition); }
