'use strict';
// The game for boardgame.io.

const { CELLS, canCloseUp, canRemove, canRemoveAny } = require('./rules');

const INVALID_MOVE = 'INVALID_MOVE'; // as boardgame.io/core exports it
const PACK = [...'CDHS'].flatMap((suit) => [...'A23456789TJQK'].map((rank) => rank + suit));

module.exports = {
  name: 'monte-carlo',
  minPlayers: 1,
  maxPlayers: 1,
  disableUndo: true, // or each move would keep one more copy of the state
  setup: ({ random }) => {
    const deck = random.Shuffle(PACK);
    return { grid: deck.slice(0, CELLS), stock: deck.slice(CELLS) };
  },
  playerView: ({ G }) => ({ grid: G.grid, stock: G.stock.length }),
  moves: {
    remove: ({ G }, a, b) => {
      if (!canRemove(G.grid, a, b)) return INVALID_MOVE;
      G.grid[a] = G.grid[b] = null;
    },
    close_up: ({ G }) => {
      if (!canCloseUp(G.grid, G.stock.length)) return INVALID_MOVE;
      const cards = [...G.grid.filter((card) => card !== null), ...G.stock];
      G.grid = Array.from({ length: CELLS }, (_, cell) => cards[cell] ?? null);
      G.stock = cards.slice(CELLS);
    },
  },
  endIf: ({ G }) => {
    if (canRemoveAny(G.grid) || canCloseUp(G.grid, G.stock.length)) return undefined;
    return { won: G.grid.every((card) => card === null) && G.stock.length === 0 };
  },
};
