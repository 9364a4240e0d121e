/**
 * The rules, written a second time for the check of logs: what a move does (`decide`, `play`) and what an event makes
 * of a game (`fold`). Nothing here is taken from the server.
 *
 * @typedef {import('./client.js').Rules} Rules
 * @typedef {import('./client.js').Cell} Cell
 * @typedef {{type: string, cells?: Cell[]}} Move
 * @typedef {{type: string, data: any}} Happened
 *
 * @typedef {object} Position
 * @property {(string | null)[]} grid in reading order
 * @property {number} dealt cards dealt so far
 * @property {string[]} removed
 * @property {string} phase play or refill
 *
 * @typedef {object} State A game as its events fold to.
 * @property {Position} position
 * @property {number} version
 * @property {string[]} shown the cards dealt so far in the order of the deal, with those of moves taken back
 * @property {{version: number, position: Position}[]} line the steps from the deal to here
 * @property {{version: number, position: Position}[]} undone steps taken back, next to redo first
 * @property {string | null} over
 */
import { RANKS, packCards } from './deals.js';

/** A move that is not legal; `code` is the one that the API has for it. */
export class Illegal extends Error {
  /** @param {string} code */
  constructor(code) {
    super(code.replaceAll('_', ' '));
    this.code = code;
  }
}

/** @param {string} card */
const value = (card) => RANKS.indexOf(card[0]) + 1;

/** @param {Rules} rules */
export const packSize = (rules) => 4 * rules.decks * rules.ranks.length;

/** @param {Rules} rules @param {string} a @param {string} b whether two cards match, wherever they lie */
function pairs(rules, a, b) {
  const has = (/** @type {string} */ ranks) => ranks.includes(a[0]) || ranks.includes(b[0]);
  if (has(rules.fixed) || (a === b && rules.decks === 1)) return false;
  if (rules.match === 'suit') return a[1] === b[1];
  if (rules.match === 'rank' || has(rules.equals)) return a[0] === b[0];
  return value(a) + value(b) === rules.total;
}

/** @param {Rules} rules @param {number} a @param {number} b whether two places are near enough */
function reaches({ reach, columns }, a, b) {
  const down = Math.abs(Math.floor(a / columns) - Math.floor(b / columns));
  const across = Math.abs((a % columns) - (b % columns));
  if (reach === 'touching') return down <= 1 && across <= 1;
  return reach === 'anywhere' || down === 0 || across === 0;
}

/** The most cards that could ever be removed if places did not matter; to remove them is to win. @param {Rules} rules */
export function goal(rules) {
  const left = new Set(packCards({ decks: 1, ranks: rules.ranks }).filter((card) => !rules.fixed.includes(card[0])));
  let sum = 0;
  for (const first of left) {
    // Cards pair within families only: a suit, a rank, or a rank and what adds up with it.
    const family = [first];
    for (const card of family) {
      left.delete(card);
      for (const other of left) if (pairs(rules, card, other) && !family.includes(other)) family.push(other);
    }
    const count = family.length * rules.decks;
    const single = family.some((card) => rules.single.includes(card[0]));
    if (family.some((a) => family.some((b) => pairs(rules, a, b)))) sum += single ? count : count - (count % 2);
    else if (single) sum += count;
  }
  return sum;
}

/** @param {Rules} rules @param {Position} position @returns {Cell[][]} legal removals in reading order */
function removals(rules, { grid, phase }) {
  /** @type {Cell[][]} */
  const found = [];
  if (phase !== 'play') return found;
  grid.forEach((a, place) => {
    if (!a) return;
    if (rules.single.includes(a[0])) found.push([cellAt(rules, place)]);
    for (let other = place + 1; other < grid.length; other++) {
      const b = grid[other];
      if (b && pairs(rules, a, b) && reaches(rules, place, other)) found.push([cellAt(rules, place), cellAt(rules, other)]);
    }
  });
  return found;
}

/** @param {Rules} rules @param {Position} position @returns {Move[]} removals, then the close-up; not undo and its like */
export function legalMoves(rules, position) {
  if (position.phase === 'refill') return [{ type: 'refill', cells: [] }];
  const found = removals(rules, position);
  const moves = found.map((cells) => ({ type: 'remove', cells }));
  const closable = rules.close_up !== 'auto' && wouldChange(rules, position) && (rules.close_up === 'free' || !found.length);
  return closable ? [...moves, { type: 'close_up', cells: [] }] : moves;
}

/** @param {Rules} rules @param {number} place @returns {Cell} */
const cellAt = ({ columns }, place) => ({ row: Math.floor(place / columns) + 1, column: (place % columns) + 1 });

/** @param {Rules} rules @param {Cell} cell @returns {number} */
function placeOf({ rows, columns }, { row, column }) {
  if (row < 1 || row > rows || column < 1 || column > columns) throw new Illegal('outside_grid');
  return (row - 1) * columns + column - 1;
}

/** @param {Rules} rules @param {Position} position @returns {(string | null)[]} the grid closed up, before cards are dealt */
function packed({ packing, columns }, { grid }) {
  const closed = (/** @type {(string | null)[]} */ line) => [...line.filter(Boolean), ...line.filter((card) => !card)];
  if (packing === 'in-place') return grid;
  if (packing !== 'columns') return closed(grid);
  const slid = Array.from({ length: columns }, (_, column) => closed(grid.filter((_, place) => place % columns === column)));
  return grid.map((_, place) => slid[place % columns][Math.floor(place / columns)]);
}

/** @param {(string | null)[]} a @param {(string | null)[]} b */
const differ = (a, b) => a.some((card, place) => card !== b[place]);

/** @param {Rules} rules @param {Position} position */
function wouldChange(rules, position) {
  const stock = packSize(rules) - position.dealt;
  return position.grid.includes(null) && (stock > 0 || differ(packed(rules, position), position.grid));
}

/**
 * Return what a removal or a close-up does. Throws `Illegal`.
 * @param {Rules} rules
 * @param {Position} position
 * @param {Move} move
 * @param {string[]} order
 * @returns {Happened[]}
 */
export function decide(rules, position, move, order) {
  if (move.type === 'remove') {
    const cells = move.cells ?? [];
    const removed = { type: 'removed', data: { cells, cards: removable(rules, position, cells) } };
    if (rules.close_up !== 'auto') return [removed];
    return [removed, ...close(rules, change(rules, position, removed), order, cells)];
  }
  if (move.type === 'refill') {
    if (position.phase !== 'refill') throw new Illegal('nothing_to_refill');
    return [refill(rules, position, order, gaps(rules, position))];
  }
  if (position.phase === 'refill') throw new Illegal('refill_due');
  if (rules.close_up === 'auto' || !wouldChange(rules, position)) throw new Illegal('nothing_to_close_up');
  if (rules.close_up === 'wave' && removals(rules, position).length) throw new Illegal('removals_remain');
  return move.type === 'compact' ? [{ type: 'compacted', data: {} }] : close(rules, position, order, []);
}

/** @param {Rules} rules @param {Position} position @param {Cell[]} cells @returns {string[]} the cards on them */
function removable(rules, { grid, phase }, cells) {
  const places = cells.map((cell) => placeOf(rules, cell));
  if (phase === 'refill') throw new Illegal('refill_due');
  if (places.length === 2 && places[0] === places[1]) throw new Illegal('same_cell');
  const cards = places.map((place) => grid[place]);
  if (!cards.every((card) => card !== null)) throw new Illegal('empty_cell');
  const [a, b] = cards;
  if (b === undefined) {
    if (!rules.single.includes(a[0])) throw new Illegal('not_single');
  } else if (!pairs(rules, a, b)) throw new Illegal('not_a_pair');
  else if (!reaches(rules, places[0], places[1])) throw new Illegal(rules.reach === 'touching' ? 'not_touching' : 'not_in_line');
  return cards;
}

/** @param {Rules} rules @param {Position} position @param {string[]} order @param {Cell[]} named @returns {Happened[]} */
function close(rules, position, order, named) {
  const atOnce = rules.packing === 'in-place' || rules.packing === 'fill-first';
  const stock = () => packSize(rules) - position.dealt;
  /** @type {Happened[]} */
  const happened = [];
  const add = (/** @type {Happened} */ event) => {
    happened.push(event);
    position = change(rules, position, event);
  };
  if (atOnce && stock()) add(refill(rules, position, order, rules.packing === 'in-place' ? named : gaps(rules, position)));
  if (differ(packed(rules, position), position.grid)) add({ type: 'compacted', data: {} });
  if (!atOnce && stock() && position.grid.includes(null)) add(refill(rules, position, order, gaps(rules, position)));
  return happened;
}

/** @param {Rules} rules @param {Position} position */
const gaps = (rules, { grid }) => grid.flatMap((card, place) => (card ? [] : [cellAt(rules, place)]));

/** @param {Rules} rules @param {Position} position @param {string[]} order @param {Cell[]} open @returns {Happened} */
function refill(rules, { dealt }, order, open) {
  const cards = order.slice(dealt, dealt + open.length);
  return { type: 'refilled', data: { cells: open.slice(0, cards.length), cards, stock: packSize(rules) - dealt - cards.length } };
}

/** @param {Rules} rules @param {Position} position @param {Happened} happened @returns {Position} */
function change(rules, position, { type, data }) {
  const grid = type === 'compacted' ? packed(rules, position) : [...position.grid];
  const { dealt, removed } = position;
  if (type === 'compacted') {
    const waits = grid.includes(null) && dealt < packSize(rules);
    return { grid, dealt, removed, phase: waits ? 'refill' : 'play' };
  }
  data.cells.forEach((/** @type {Cell} */ cell, /** @type {number} */ i) => {
    grid[placeOf(rules, cell)] = type === 'removed' ? null : data.cards[i];
  });
  if (type === 'removed') return { grid, dealt, removed: [...removed, ...data.cards], phase: 'play' };
  return { grid, dealt: dealt + data.cards.length, removed, phase: 'play' };
}

/** @param {string[]} grid @returns {State} a game just dealt */
export function begin(grid) {
  const position = { grid, dealt: grid.length, removed: [], phase: 'play' };
  return { position, version: 1, shown: grid, line: [{ version: 1, position }], undone: [], over: null };
}

/**
 * Return the events that a move makes. Throws `Illegal`.
 * @param {Rules} rules
 * @param {State} state
 * @param {Move} move
 * @param {string[]} order
 * @param {string | null} seed revealed at the end
 * @returns {Happened[]}
 */
export function play(rules, state, move, order, seed) {
  const { position, line, undone } = state;
  if (state.over) throw new Illegal('game_over');
  if (move.type === 'undo') {
    if (line.length === 1) throw new Illegal('nothing_to_undo');
    return [{ type: 'undone', data: { to: line[line.length - 2].version } }];
  }
  if (move.type === 'redo') {
    if (!undone.length) throw new Illegal('nothing_to_redo');
    return [{ type: 'redone', data: { to: undone[0].version } }];
  }
  const left = packSize(rules) - position.removed.length;
  if (move.type === 'resign') return [{ type: 'resigned', data: { cards_left: left, seed } }];
  const happened = decide(rules, position, move, order);
  const gone = happened.reduce((sum, { type, data }) => sum + (type === 'removed' ? data.cards.length : 0), 0);
  if (position.removed.length + gone < goal(rules)) return happened;
  return [...happened, { type: 'won', data: { cards_left: left - gone, seed } }];
}

/**
 * Apply an event that belongs to the move which began at a version.
 * @param {Rules} rules
 * @param {State} state
 * @param {Happened} happened
 * @param {number} move
 * @returns {State}
 */
export function fold(rules, state, happened, move) {
  const version = state.version + 1;
  const { line, undone } = state;
  switch (happened.type) {
    case 'undone':
      return { ...state, version, position: line[line.length - 2].position, line: line.slice(0, -1), undone: [line[line.length - 1], ...undone] };
    case 'redone':
      return { ...state, version, position: undone[0].position, line: [...line, undone[0]], undone: undone.slice(1) };
    case 'hinted': return { ...state, version };
    case 'resigned': return { ...state, version, over: 'lost' };
    case 'won': return { ...state, version, over: 'won' };
  }
  const position = change(rules, state.position, happened);
  const shown = position.dealt > state.shown.length ? [...state.shown.slice(0, state.position.dealt), ...happened.data.cards] : state.shown;
  const before = move === version ? line : line.slice(0, -1);
  return { ...state, version, position, shown, line: [...before, { version, position }], undone: [] };
}
