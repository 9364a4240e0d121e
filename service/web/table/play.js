/**
 * A game being played. What the player does shows at once; the server hears of it one request after another, and what
 * it answers is the truth. Rules are not known here: every position lists its legal moves.
 *
 * @typedef {import('./client.js').Client} Client
 * @typedef {import('./client.js').Game} Game
 * @typedef {import('./client.js').GameEvent} GameEvent
 * @typedef {import('./client.js').Move} Move
 * @typedef {import('./client.js').Cell} Cell
 *
 * @typedef {object} Change What the player is shown next.
 * @property {'asked' | 'answered' | 'refused' | 'elsewhere'} why an own move as it is made, the answer to it, its
 *   refusal, or something that happened in another window
 * @property {GameEvent[]} events what happened, as far as it is known
 * @property {string} [message] why a move was refused
 */
import { Problem, newKey } from './client.js';
import { keep, kept } from './keep.js';

const MOST_MOVES = 64; // in one request
/** What kind of step an event begins. @type {Record<string, string>} */
const STEPS = { removed: 'remove', compacted: 'close_up', refilled: 'close_up', undone: 'undo', redone: 'redo' };

export class Play {
  /**
   * Open a game with its token. What an earlier visit could not bring to the server goes there first; its key tells
   * whether it had arrived.
   * @param {Client} client
   * @param {string} id
   * @param {string} token
   * @param {(change: Change) => void} onChange
   */
  static async open(client, id, token, onChange) {
    const left = kept(`pending.${id}`);
    if (left) await client.move(id, token, left.moves, left.terms).catch(onlyProblems);
    keep(`pending.${id}`, null);
    const [game, events] = await Promise.all([client.game(id, token), client.events(id, token)]);
    return new Play(client, game, token, onChange, events);
  }

  /**
   * @param {Client} client
   * @param {Game} game
   * @param {string} token
   * @param {(change: Change) => void} onChange
   * @param {GameEvent[]} [events] what happened so far
   */
  constructor(client, game, token, onChange, events = []) {
    this.client = client;
    this.token = token;
    this.onChange = onChange;
    /** What the server said last. */
    this.confirmed = game;
    /** What the player sees: that, with the moves under way. */
    this.game = game;
    /** Moves under way, each with what is known of what it will make of the game. @type {{move: Move, after: Game | null, hidden: boolean}[]} */
    this.pending = [];
    /** What undo and redo will show, nearest last, as far as it was seen here. @type {{past: Game[], future: Game[]}} */
    this.seen = { past: [], future: [] };
    /** How many moves can be taken back, and made again. */
    this.steps = { back: 0, forth: 0 };
    events.forEach((event) => this.#count(event));
    /** What goes to the server goes in turns, so that each request knows the game that it is about. @type {Promise<unknown>} */
    this.turn = Promise.resolve();
    this.channel = new BroadcastChannel(`montecarlo.${game.id}`);
    this.channel.onmessage = ({ data: { game, tag } }) => {
      if (game.version <= this.confirmed.version || this.pending.length) return;
      client.tags.set(game.id, tag);
      this.#elsewhere(game);
    };
  }

  close() {
    this.onChange = () => {}; // what is under way still reaches the server, and nobody looks any more
    this.channel.close();
  }

  get over() {
    return this.game.status === 'won' || this.game.status === 'lost';
  }

  /** Whether nothing can be chosen before the answer, because it brings cards. */
  get waiting() {
    return this.pending.some(({ hidden }) => hidden);
  }

  get canUndo() {
    return !this.over && this.steps.back > 0;
  }

  get canRedo() {
    return !this.over && this.steps.forth > 0;
  }

  /** The move that brings new cards, if there is one: a close-up, or its second half. @returns {Move | null} */
  get dealing() {
    const listed = this.game.legal_moves.find((move) => move.type !== 'remove');
    // After a removal that is still under way a close-up is most likely legal; if not, the server says so.
    const likely = this.pending.length > 0 && this.game.rules.close_up === 'free';
    return listed || likely ? { type: listed?.type ?? 'close_up', cells: [] } : null;
  }

  /**
   * Return the legal removal of these cells, named in this order, or null.
   * @param {Cell[]} cells
   * @returns {Move | null}
   */
  removal(cells) {
    const fits = this.game.legal_moves.some(
      (move) => move.cells.length === cells.length && move.cells.every((cell) => cells.some((other) => same(cell, other))),
    );
    return fits ? { type: 'remove', cells } : null;
  }

  /** Make a move. @param {Move} move */
  make(move) {
    const { past, future } = this.seen;
    const before = this.game;
    let after = afterRemoval(before, move);
    if (move.type === 'undo') {
      after = past.pop() ?? null;
      future.push(before);
    } else if (move.type === 'redo') {
      after = future.pop() ?? null;
      past.push(before);
    } else {
      past.push(before);
      this.seen.future = [];
    }
    this.#step(move.type);
    this.pending.push({ move, after, hidden: !after || (move.type === 'remove' && before.rules.close_up === 'auto') });
    if (after) this.game = { ...before, ...positionOf(after) };
    this.onChange({ why: 'asked', events: [] });
    this.#next(() => this.#send());
  }

  /**
   * Ask the server why a removal is not legal. Nothing changes.
   * @param {Cell[]} cells
   * @returns {Promise<string>}
   */
  async reason(cells) {
    const asked = () => this.client.tryMoves(this.game.id, this.token, [{ type: 'remove', cells }]).catch(onlyProblems);
    const answer = await this.#next(asked);
    if (answer instanceof Problem) return answer.message;
    await this.refresh(); // it is legal after all: this window is behind
    return '';
  }

  /**
   * Get a hint. It is an event of the game, too.
   * @param {'first' | 'fair'} level
   */
  hint(level) {
    return this.#next(async () => {
      const hint = await this.client.hint(this.game.id, this.token, level);
      const { assistance } = this.confirmed;
      const counted = { version: hint.version, assistance: { ...assistance, hints: assistance.hints + 1 } };
      this.confirmed = { ...this.confirmed, ...counted };
      this.game = { ...this.game, ...counted };
      this.#tell();
      return hint;
    });
  }

  /** Look whether the game has moved on: another device may play it too. */
  refresh() {
    return this.#next(async () => {
      if (!this.over) await this.#elsewhere(await this.client.game(this.game.id, this.token));
    });
  }

  /**
   * Do something when all that was asked before is answered.
   * @template T
   * @param {() => Promise<T>} task
   * @returns {Promise<T>}
   */
  #next(task) {
    const turn = this.turn.then(task);
    this.turn = turn.catch(() => {});
    return turn;
  }

  async #send() {
    while (this.pending.length) await this.#exchange(this.pending.slice(0, MOST_MOVES).map(({ move }) => move));
  }

  /** Make moves on the server and take its word for what came of them. @param {Move[]} moves */
  async #exchange(moves) {
    const { id } = this.game;
    const terms = { key: newKey(), tag: this.client.tags.get(id) };
    keep(`pending.${id}`, { moves, terms });
    try {
      const { events, game } = await this.client.move(id, this.token, moves, terms);
      this.confirmed = game;
      this.pending.splice(0, moves.length);
      this.game = game;
      for (const under of this.pending) {
        under.after = afterRemoval(this.game, under.move) ?? under.after;
        if (under.after) this.game = { ...this.game, ...positionOf(under.after) };
      }
      this.#tell();
      this.onChange({ why: 'answered', events });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.pending = [];
      await this.#take(await this.client.game(id, this.token));
      const message = error.code === 'stale' ? 'The game went on in another window; this is how it stands' : error.message;
      this.onChange({ why: 'refused', events: [], message });
    } finally {
      keep(`pending.${id}`, null);
    }
  }

  /** Tell other windows how the game stands. */
  #tell() {
    this.channel.postMessage({ game: this.confirmed, tag: this.client.tags.get(this.game.id) });
  }

  /** Another window or device has moved. @param {Game} game */
  async #elsewhere(game) {
    if (game.version <= this.confirmed.version || this.pending.length) return;
    await this.#take(game);
    this.onChange({ why: 'elsewhere', events: [] });
  }

  /** Take over a state of the game that did not come about here. @param {Game} game */
  async #take(game) {
    this.confirmed = this.game = game;
    this.seen = { past: [], future: [] };
    this.steps = { back: 0, forth: 0 };
    for (const event of await this.client.events(game.id, this.token)) this.#count(event);
  }

  /** Count an event of the log as a step. @param {GameEvent} event */
  #count({ type, version, move }) {
    if (version === move) this.#step(STEPS[type] ?? '');
  }

  /** @param {string} type of a move */
  #step(type) {
    const { back, forth } = this.steps;
    if (type === 'undo') this.steps = { back: back - 1, forth: forth + 1 };
    else if (type === 'redo') this.steps = { back: back + 1, forth: forth - 1 };
    else if (type && type !== 'resign') this.steps = { back: back + 1, forth: 0 };
  }
}

/** @param {Cell} a @param {Cell} b */
export const same = (a, b) => a.row === b.row && a.column === b.column;

/** @param {unknown} error @returns {Problem} */
function onlyProblems(error) {
  if (error instanceof Problem) return error;
  throw error;
}

/** @param {Game} game */
function positionOf({ grid, stock, removed, removed_cards, cards_left, legal_moves, status, phase }) {
  return { grid, stock, removed, removed_cards, cards_left, legal_moves, status, phase };
}

/**
 * Return what a removal makes of a game before it closes up, or null for other moves. What else was legal stays so, for
 * a removal never parts other pairs.
 * @param {Game} game
 * @param {Move} move
 * @returns {Game | null}
 */
function afterRemoval(game, { type, cells }) {
  if (type !== 'remove') return null;
  const gone = (/** @type {Cell} */ cell) => cells.some((other) => same(cell, other));
  const cards = cells.flatMap(({ row, column }) => game.grid[row - 1][column - 1] ?? []);
  return {
    ...game,
    grid: game.grid.map((row, r) => row.map((card, c) => (gone({ row: r + 1, column: c + 1 }) ? null : card))),
    removed: game.removed + cards.length,
    removed_cards: [...game.removed_cards, ...cards],
    cards_left: game.cards_left - cards.length,
    legal_moves: game.legal_moves.filter((legal) => !legal.cells.some(gone)),
  };
}
