'use strict';
// The rules of monte-carlo: a grid is 25 cells in reading order, each a card as "TH" or null, a stock a number of cards.

const SIDE = 5;
const CELLS = SIDE * SIDE;

const touching = (a, b) =>
  a !== b && Math.abs((a % SIDE) - (b % SIDE)) <= 1 && Math.abs(Math.trunc(a / SIDE) - Math.trunc(b / SIDE)) <= 1;

// The cells that touch a cell and come after it, so that each pair is met once, in reading order.
const LATER = Array.from({ length: CELLS }, (_, a) =>
  [a + 1, a + SIDE - 1, a + SIDE, a + SIDE + 1].filter((b) => b < CELLS && touching(a, b)));

const alike = (grid, a, b) => grid[a] !== null && grid[b] !== null && grid[a][0] === grid[b][0];

const isCell = (cell) => Number.isInteger(cell) && cell >= 0 && cell < CELLS;

const canRemove = (grid, a, b) => isCell(a) && isCell(b) && touching(a, b) && alike(grid, a, b);

const canRemoveAny = (grid) => LATER.some((cells, a) => cells.some((b) => alike(grid, a, b)));

// Legal only when it changes the grid: a gap that the stock can fill, or one before a card.
function canCloseUp(grid, stock) {
  const gap = grid.indexOf(null);
  return gap >= 0 && (stock > 0 || grid.slice(gap).some((card) => card !== null));
}

// What all players do, from what a player can see: remove the first pair in reading order while there is one, then
// close up. A removal makes no new pair, so what this yields stays legal to the end.
function* wave(grid, stock) {
  const left = grid.slice();
  for (let a = 0; a < CELLS; a++) {
    const b = LATER[a].find((cell) => alike(left, a, cell));
    if (b === undefined) continue;
    left[a] = left[b] = null;
    yield { type: 'remove', cells: [a, b] };
  }
  if (canCloseUp(left, stock)) yield { type: 'close_up', cells: [] };
}

module.exports = { CELLS, SIDE, canCloseUp, canRemove, canRemoveAny, wave };
