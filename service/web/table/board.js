/**
 * The board: a grid of cells with cards that move. It shows a game and tells which cell was chosen; it knows no rules.
 *
 * @typedef {import('./client.js').Cell} Cell
 * @typedef {object} Shown What a board shows.
 * @property {(string | null)[][]} grid
 * @property {number} [stock] how many cards are in it; where they are fewer than before, new cards come from it
 * @property {Cell[]} [selected]
 * @property {Cell[]} [hinted]
 * @property {boolean} [waiting] whether nothing can be chosen now
 */
import { spoken } from './words.js';

const SVG = 'http://www.w3.org/2000/svg';
const MOVE = { duration: 320, easing: 'cubic-bezier(.3,.7,.2,1)', fill: /** @type {const} */ ('backwards') };
const STAGGER = 30;

export class Board {
  /**
   * @param {HTMLElement} root the element with the role grid
   * @param {{stock: HTMLElement, removed: HTMLElement}} piles where cards come from and go to
   * @param {(cell: Cell) => void} onChoose
   */
  constructor(root, piles, onChoose) {
    this.root = root;
    this.piles = piles;
    /** @type {HTMLElement[]} */
    this.cells = [];
    this.columns = 0;
    this.stock = 0;
    /** The cell that the keyboard is on. */
    this.focused = 0;
    root.addEventListener('click', ({ target }) => {
      const place = this.#placeOf(target);
      if (place < 0) return;
      this.#focus(place, false);
      onChoose(this.#cell(place));
    });
    root.addEventListener('keydown', (event) => {
      const moved = this.#moved(event);
      if (moved !== null) this.#focus(moved, true);
      else if (event.key === 'Enter' || event.key === ' ') onChoose(this.#cell(this.focused));
      else return;
      event.preventDefault();
    });
    root.addEventListener('focusin', ({ target }) => {
      const place = this.#placeOf(target);
      if (place >= 0) this.#focus(place, false);
    });
  }

  /**
   * Show a game; cards that were there before move to where they are now.
   * @param {Shown} shown
   * @param {boolean} [still] without movement
   */
  show({ grid, stock = 0, selected = [], hinted = [], waiting = false }, still = false) {
    this.#lay(grid.length, grid[0].length);
    const cards = grid.flat();
    const before = this.cells.map((cell) => /** @type {SVGElement | null} */ (cell.querySelector('svg')));
    const now = origins(before.map((card) => card?.dataset.card ?? null), cards);
    const moves = cards.some((card, place) => now[place] !== place && (card || before[place]));
    const rects = moves && !still && !lessMotion() ? before.map((card) => card?.getBoundingClientRect()) : null;
    const drawn = cards.map((card, place) => (card ? (before[now[place]] ?? draw(card)) : null));
    const gone = before.filter((card) => card && !drawn.includes(card));
    this.cells.forEach((cell, place) => {
      if (drawn[place] !== cell.firstChild) cell.replaceChildren(...(drawn[place] ? [drawn[place]] : []));
      const here = this.#cell(place);
      const has = (/** @type {Cell[]} */ cells) => cells.some(({ row, column }) => row === here.row && column === here.column);
      const card = cards[place];
      cell.setAttribute('aria-label', (card ? spoken(card) : 'empty') + (has(hinted) ? ', hinted' : ''));
      cell.setAttribute('aria-selected', String(has(selected)));
      cell.classList.toggle('hinted', has(hinted));
      cell.classList.toggle('gap', !card);
    });
    this.root.setAttribute('aria-busy', String(waiting));
    // What is undone goes the other way: cards back from the pile, and back into the stock.
    const { piles } = this;
    const [from, to] = [stock < this.stock ? piles.stock : piles.removed, stock > this.stock ? piles.stock : piles.removed];
    this.stock = stock;
    if (rects) this.#move(before, rects, drawn, gone, from, to);
  }

  /** Shake cells that cannot be removed together. @param {Cell[]} cells */
  shake(cells) {
    if (lessMotion()) return;
    for (const { row, column } of cells) {
      const offsets = [0, -5, 5, -3, 3, 0].map((x) => ({ transform: `translateX(${x}px)` }));
      this.cells[(row - 1) * this.columns + column - 1]?.animate(offsets, 300);
    }
  }

  focus() {
    this.cells[this.focused]?.focus();
  }

  /**
   * @param {(SVGElement | null)[]} before
   * @param {(DOMRect | undefined)[]} rects where those cards were
   * @param {(SVGElement | null)[]} drawn
   * @param {(SVGElement | null)[]} gone
   * @param {HTMLElement} from the pile that new cards come from
   * @param {HTMLElement} to the pile that the others go to
   */
  #move(before, rects, drawn, gone, from, to) {
    // All places are read before anything is written, so that the browser lays the page out once.
    const [source, aim] = [from, to].map((pile) => pile.getBoundingClientRect());
    const places = this.cells.map((cell) => cell.getBoundingClientRect());
    let dealt = 0;
    drawn.forEach((card, place) => {
      if (!card) return;
      const old = rects[before.indexOf(card)];
      if (old) {
        if (old.x !== places[place].x || old.y !== places[place].y) card.animate([shift(old, places[place]), {}], MOVE);
      } else {
        card.animate([{ ...shift(source, places[place]), opacity: 0 }, { opacity: 1, offset: 0.3 }, {}], {
          ...MOVE,
          delay: (before.some(Boolean) ? 160 : 0) + STAGGER * dealt++,
        });
      }
    });
    for (const card of gone) {
      const at = before.indexOf(card);
      if (!card || !places[at]) continue;
      card.classList.add('leaving');
      this.cells[at].append(card);
      const away = card.animate([{}, { ...shift(aim, places[at]), opacity: 0 }], { ...MOVE, fill: 'forwards' });
      away.onfinish = () => card.remove();
    }
  }

  /** Make the cells of a grid, unless they are there. @param {number} rows @param {number} columns */
  #lay(rows, columns) {
    if (this.cells.length === rows * columns && this.columns === columns) {
      for (const leaving of this.root.querySelectorAll('.leaving')) leaving.remove();
      return;
    }
    this.columns = columns;
    this.focused = 0;
    this.root.style.setProperty('--columns', String(columns));
    this.root.style.setProperty('--rows', String(rows));
    this.cells = [];
    this.root.replaceChildren(
      ...Array.from({ length: rows }, () => {
        const row = element('div', 'row');
        for (let column = 0; column < columns; column++) {
          const cell = element('div', 'gridcell');
          cell.tabIndex = this.cells.length ? -1 : 0;
          this.cells.push(cell);
          row.append(cell);
        }
        return row;
      }),
    );
  }

  /** @param {number} place @returns {Cell} */
  #cell(place) {
    return { row: Math.floor(place / this.columns) + 1, column: (place % this.columns) + 1 };
  }

  /** @param {EventTarget | null} target */
  #placeOf(target) {
    const cell = target instanceof Element ? target.closest('[role=gridcell]') : null;
    return cell ? this.cells.indexOf(/** @type {HTMLElement} */ (cell)) : -1;
  }

  /** @param {number} place @param {boolean} grab */
  #focus(place, grab) {
    this.cells[this.focused].tabIndex = -1;
    this.focused = place;
    this.cells[place].tabIndex = 0;
    if (grab) this.cells[place].focus();
  }

  /** Return where a key leads, as grids have it, or null for other keys. @param {KeyboardEvent} event */
  #moved({ key, ctrlKey, altKey, metaKey }) {
    if (altKey || metaKey) return null;
    const [last, columns] = [this.cells.length - 1, this.columns];
    const start = this.focused - (this.focused % columns);
    const end = start + columns - 1;
    switch (key) {
      case 'ArrowLeft': return Math.max(this.focused - 1, start);
      case 'ArrowRight': return Math.min(this.focused + 1, end);
      case 'ArrowUp': return this.focused < columns ? this.focused : this.focused - columns;
      case 'ArrowDown': return this.focused + columns > last ? this.focused : this.focused + columns;
      case 'Home': return ctrlKey ? 0 : start;
      case 'End': return ctrlKey ? last : end;
      default: return null;
    }
  }
}

/**
 * Say for each place from which place its card came, or -1 where it is new. Cards that can have stayed did stay; of
 * twins, as two decks have them, any may be it.
 * @param {(string | null)[]} before
 * @param {(string | null)[]} after
 */
export function origins(before, after) {
  const left = [...before];
  const from = after.map((card, place) => (card && left[place] === card ? ((left[place] = null), place) : -1));
  return after.map((card, place) => {
    if (!card || from[place] >= 0) return from[place];
    const found = left.indexOf(card);
    if (found >= 0) left[found] = null;
    return found;
  });
}

/** Draw a card: a use of the symbol that the page has for it. @param {string} card */
export function draw(card) {
  const svg = document.createElementNS(SVG, 'svg');
  const use = document.createElementNS(SVG, 'use');
  svg.setAttribute('viewBox', '0 0 50 70');
  svg.setAttribute('aria-hidden', 'true');
  svg.classList.add('card');
  svg.dataset.card = card;
  use.setAttribute('href', `#${card}`);
  svg.append(use);
  return svg;
}

export function lessMotion() {
  return document.documentElement.dataset.motion === 'less' || matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/** @param {DOMRect} from @param {DOMRect} to */
function shift(from, to) {
  return { transform: `translate(${from.x - to.x}px, ${from.y - to.y}px)` };
}

/** @param {string} tag @param {string} role */
function element(tag, role) {
  const made = document.createElement(tag);
  made.setAttribute('role', role);
  return made;
}
