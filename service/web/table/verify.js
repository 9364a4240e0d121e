/**
 * The check of a log, in the browser: an implementation of its own beside the server's, so that nobody need trust
 * either. It knows the log, the published keys, Web Crypto and the written rules. Both agree on all vectors in
 * `openapi/vectors/`.
 *
 * @typedef {import('./rules.js').State} State
 * @typedef {import('./rules.js').Happened} Happened
 * @typedef {import('./client.js').Rules} Rules
 * @typedef {import('./client.js').Cell} Cell
 * @typedef {Record<string, any>} Json
 *
 * @typedef {object} Verdict The same words as the server's.
 * @property {boolean} valid nothing is wrong
 * @property {boolean | null} authentic signed by a known key, signed otherwise, not signed by anyone known
 * @property {boolean} finished
 * @property {boolean} revealed the order of the cards is known
 * @property {number} checked the version up to which the log is good
 * @property {{version: number, code: string, message: string} | null} fault the first one
 * @property {string[]} unchecked what could not be checked
 * @property {Rules | null} rules
 * @property {State[]} states the game after each good event
 * @property {string[] | null} order of the cards
 */
import { RANKS, commitment, numberSeed, packCards, pysolOrder, sha256, v1Order } from './deals.js';
import { Illegal, begin, fold, legalMoves, packSize, play } from './rules.js';

const TYPES = ['dealt', 'removed', 'compacted', 'refilled', 'undone', 'redone', 'hinted', 'resigned', 'won'];
const TOP = ['format', 'game', 'events', 'head', 'seed', 'signature', 'receipts', 'result'];
const EVENT = ['game', 'version', 'move', 'type', 'data', 'at', 'previous', 'hash'];
const DEALT = ['format', 'variant', 'rules', 'rules_version', 'algorithm', 'deal', 'ranked', 'deadline', 'grid', 'stock', 'deck'];
const RULES = ['decks', 'ranks', 'rows', 'columns', 'match', 'total', 'equals', 'single', 'fixed', 'reach', 'close_up', 'packing'];
const DEAL = ['kind', 'number', 'commitment', 'client_seed', 'fairness'];
/** @type {Record<string, string>} */
const ALGORITHMS = { secret: 'v1', numbered: 'v1', pysol: 'pysol', deck: 'deck' };
const VARIANTS = [
  'monte-carlo', 'monte-carlo-wave', 'monte-carlo-4x5', 'monte-carlo-thirteens', 'monte-carlo-fourteens', 'fourteens',
  'aces-square-5x5', 'monte-carlo-2-decks', 'weddings-columns', 'neighbour', 'simple-carlo', 'quatorze', 'aces-square',
  'simple-pairs', 'block-ten', 'simple-tens', 'thirteens',
];
const HASH = /^[0-9a-f]{64}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UNKNOWN = '??';
const MOST_EVENTS = 10_004;

/** The first thing that is wrong. `whole` marks a fault of the log as a whole, whose events are good. */
class Fault extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message, whole = false) {
    super(message);
    this.code = code;
    this.whole = whole;
  }
}

/**
 * Check a log. Throws `Error` for what is no log at all.
 * @param {any} log as `GET /v1/games/{id}/log` gives it, with `receipts` if there are some
 * @param {{keys: JsonWebKey[]}} jwks the published keys
 * @returns {Promise<Verdict>}
 */
export async function verify(log, jwks) {
  read(log);
  return new Check(log, jwks).verdict();
}

/** RFC 8785, for what events hold: no fractions, no number beyond 2^53. @param {any} value @returns {string} */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value && typeof value === 'object') {
    return `{${Object.keys(value).sort().map((name) => `${canonical(name)}:${canonical(value[name])}`)}}`;
  }
  if (typeof value === 'string' && !value.isWellFormed()) throw new Error('a string of half characters');
  return JSON.stringify(value);
}

/** @param {Json} event @returns {Promise<string | null>} its hash, or null for what can have none */
export async function eventHash({ hash: _, ...event }) {
  try {
    return await sha256(canonical(event));
  } catch {
    return null;
  }
}

/** @param {any} log */
function read(log) {
  const fail = (/** @type {string} */ why) => {
    throw new Error(`This is no log that can be read: ${why}.`);
  };
  if (!log || typeof log !== 'object' || Array.isArray(log)) fail('a log is a JSON object');
  if ((log.format ?? 1) !== 1) fail('its format is not known here');
  const other = Object.keys(log).find((name) => !TOP.includes(name));
  if (other !== undefined) fail(`a log has no field ${other.slice(0, 40)}`);
  for (const name of ['game', 'head', 'seed', 'signature', 'result']) {
    if (typeof (log[name] ?? '') !== 'string') fail(`${name} is no text`);
  }
  const { receipts } = log;
  if ((receipts ?? null) !== null && !(Array.isArray(receipts) && receipts.every((one) => typeof one === 'string'))) fail('its receipts are no texts');
  if (!Array.isArray(log.events) || !log.events.length) fail('it has no events');
  if (log.events.length > MOST_EVENTS) fail(`a log has at most ${MOST_EVENTS} events`);
  log.events.forEach((/** @type {any} */ event, /** @type {number} */ place) => {
    const whole = event?.data && typeof event.data === 'object' && !Array.isArray(event.data) && TYPES.includes(event.type);
    if (!whole) fail(`event ${place + 1} has no known type`);
  });
}

class Check {
  /** @param {any} log @param {{keys: JsonWebKey[]}} jwks */
  constructor(log, jwks) {
    this.log = log;
    this.keys = jwks.keys;
    /** @type {Json[]} */
    this.events = log.events;
    this.hashed = this.events.some(({ hash }) => typeof hash === 'string' || (hash ?? null) !== null);
    /** @type {string[]} */
    this.unchecked = [];
    /** @type {State[]} */
    this.states = [];
    /** @type {Rules | null} */
    this.rules = null;
    /** @type {string[] | null} */
    this.order = null;
    /** @type {string | null} */
    this.seed = null;
    this.secret = false;
    this.opened = true;
    /** @type {string[]} */
    this.hashes = [];
    this.previous = '0'.repeat(64);
    this.at = '';
  }

  /** The game after the last good event. */
  get state() {
    return this.states[this.states.length - 1];
  }

  /** @returns {Promise<Verdict>} */
  async verdict() {
    let fault = null;
    try {
      await this.dealt();
      await this.moves();
      await this.whole();
      await this.receipts();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const { code, message, whole } = error;
      fault = { version: this.states.length + (whole ? 0 : 1), code, message };
    }
    const { states, order, rules } = this;
    if (states.length && !order) this.unchecked.push('deal');
    if (!this.hashed) this.unchecked.push('hashes');
    if (this.events.every(({ at }) => (at ?? null) === null)) this.unchecked.push('times');
    const authentic = await this.authentic();
    const finished = Boolean(this.state?.over);
    return { valid: !fault, authentic, finished, revealed: Boolean(order), checked: states.length, fault, unchecked: this.unchecked, rules, states, order };
  }

  // The deal

  async dealt() {
    const [claim] = this.events;
    if (claim.type !== 'dealt') throw new Fault('unexpected_event', 'A log begins with dealt.');
    const { data } = claim;
    const wrong = badDeal(data);
    if (wrong) throw new Fault('bad_deal', `This deal cannot be: ${wrong}.`);
    const { rules } = data;
    this.rules = rules;
    await this.open(data);
    const size = rules.rows * rules.columns;
    const grid = data.grid.flat();
    const rows = Array.from({ length: Math.ceil(grid.length / rules.columns) }, (_, row) => grid.slice(row * rules.columns, (row + 1) * rules.columns));
    if (canonical(rows) !== canonical(data.grid)) throw new Fault('bad_deal', 'The rows of the grid are not those of the rules.');
    if (data.stock !== packSize(rules) - size || grid.length !== size) throw new Fault('wrong_cards', 'The grid is not full, or the stock not the rest.');
    if (this.order && canonical(this.order.slice(0, size)) !== canonical(grid)) throw new Fault('wrong_cards', 'The deal gives other cards.');
    this.pack(grid);
    await this.place(claim, 1);
    this.states.push(begin(grid));
  }

  /** Find the order of the cards, if it is revealed and opens the commitment. @param {Json} data */
  async open({ rules, deal, deck }) {
    this.secret = deal.kind === 'secret';
    const last = this.events[this.events.length - 1];
    this.seed = (['won', 'resigned'].includes(last.type) ? last.data.seed : null) ?? this.log.seed ?? null;
    if (deal.kind === 'deck') this.order = deck.split(' ');
    else if (deal.kind === 'pysol') this.order = pysolOrder(rules, BigInt(deal.number));
    else if (deal.kind === 'numbered') this.order = await v1Order(rules, await numberSeed(deal.number), '');
    else if (this.seed !== null) {
      this.opened = HASH.test(this.seed) && (await commitment(this.seed)) === deal.commitment;
      if (this.opened) this.order = await v1Order(rules, this.seed, deal.client_seed);
    }
  }

  /** @param {string[]} shown */
  pack(shown) {
    const left = packCards(/** @type {Rules} */ (this.rules));
    for (const card of shown) {
      const at = left.indexOf(card);
      if (at < 0) throw new Fault('wrong_cards', 'A card is shown more often than the pack holds it.');
      left.splice(at, 1);
    }
  }

  // The moves

  async moves() {
    const rules = /** @type {Rules} */ (this.rules);
    /** @type {Happened[]} */
    let coming = [];
    let first = 0;
    for (let place = 1; place < this.events.length; place++) {
      const claim = this.events[place];
      if (!coming.length) {
        first = place + 1;
        coming = claim.type === 'hinted' ? [this.hinted(claim)] : this.derived(place);
      }
      const expected = /** @type {Happened} */ (coming.shift());
      this.event(claim, expected);
      await this.place(claim, first);
      const state = fold(rules, this.state, expected, first);
      if (!this.order && state.shown.length > this.state.shown.length) this.pack(state.shown);
      this.states.push(state);
    }
    if (coming.length) throw new Fault('log_ends_within_move', 'The last move has another event, which is missing.');
  }

  /** @param {number} place @returns {Happened[]} what the move that the event at a place begins makes by the rules */
  derived(place) {
    const order = this.order ?? this.claimed(place);
    try {
      return play(/** @type {Rules} */ (this.rules), this.state, this.asked(place), order, this.secret ? this.seed : null);
    } catch (error) {
      if (error instanceof Illegal) throw new Fault(error.code, `This move is not legal: ${error.message}.`);
      throw error;
    }
  }

  /** @param {number} place @returns {import('./rules.js').Move} */
  asked(place) {
    const { type, data, move } = this.events[place];
    switch (type) {
      case 'undone': return { type: 'undo' };
      case 'redone': return { type: 'redo' };
      case 'resigned': return { type: 'resign' };
      case 'refilled': return { type: this.state.position.phase === 'refill' ? 'refill' : 'close_up' };
      case 'removed':
        // Of a cell only what a cell has: what else a log says there is not what the rules give.
        if (areCells(data.cells)) return { type: 'remove', cells: data.cells.map((/** @type {Cell} */ { row, column }) => ({ row, column })) };
        throw new Fault('unexpected_event', 'This removal cannot be read.');
      case 'compacted': {
        const next = this.events[place + 1];
        return { type: next?.type === 'refilled' && (next.move ?? null) === (move ?? null) ? 'close_up' : 'compact' };
      }
      default: throw new Fault('unexpected_event', 'No move begins with such an event.');
    }
  }

  /** Return the hint that an event tells of, if it can have been given here. @param {Json} claim @returns {Happened} */
  hinted({ data }) {
    const { level, move, wins, samples } = data;
    if (!move || typeof move.type !== 'string' || !Array.isArray(move.cells)) throw new Fault('unexpected_event', 'This hint cannot be read.');
    if (this.state.over) throw new Fault('game_over', 'The game is over; no hint is given any more.');
    const legal = legalMoves(/** @type {Rules} */ (this.rules), this.state.position);
    const counts = Number.isInteger(wins) && Number.isInteger(samples) && 0 <= wins && wins <= samples && samples <= 1000;
    if (!counts || !['first', 'fair', 'solve'].includes(level) || !legal.some((other) => canonical(other) === canonical(move))) {
      throw new Fault('unexpected_event', 'No such hint can be given here.');
    }
    if (level === 'first') return { type: 'hinted', data: { level, move: legal[0], wins: 0, samples: 0 } };
    // A fair hint tries orders but for a refill, which is no choice; a solution is of a deal that anyone may see.
    const possible = level === 'fair' ? (samples === 0) === (move.type === 'refill') : !this.secret && samples <= 1;
    if (!possible) throw new Fault('unexpected_event', 'No such hint can be given here.');
    if (!this.unchecked.includes('hints')) this.unchecked.push('hints');
    return { type: 'hinted', data: { level, move, wins, samples } };
  }

  /** Of an order not revealed: the cards shown, then those that the coming refill claims. @param {number} place */
  claimed(place) {
    const { shown, position } = this.state;
    const coming = this.events.slice(place, place + 3).find(({ type }) => type === 'refilled')?.data.cards;
    const cards = Array.isArray(coming) ? coming.map((card) => (typeof card === 'string' ? card : UNKNOWN)) : [];
    const known = [...shown, ...cards.slice(shown.length - position.dealt)];
    const size = packSize(/** @type {Rules} */ (this.rules));
    return [...known, ...Array(Math.max(0, size - known.length)).fill(UNKNOWN)];
  }

  /** @param {Json} claim @param {Happened} expected */
  event(claim, { type, data }) {
    if (claim.type !== type || canonically(claim.data) !== canonical(data)) throw new Fault('unexpected_event', 'By the rules something else happened here.');
    if (!this.secret || (type !== 'won' && type !== 'resigned')) return;
    if (data.seed === null) throw new Fault('commitment_not_opened', 'The game is over, and the seed is not revealed.');
    if (!this.opened) throw new Fault('commitment_not_opened', 'The seed does not open the commitment.');
  }

  /** Check what binds an event to its place: numbers, time, link and hash. @param {Json} claim @param {number} move */
  async place(claim, move) {
    const wanted = { version: this.states.length + 1, move, game: this.log.game ?? null };
    for (const [name, value] of Object.entries(wanted)) {
      const found = claim[name] ?? null;
      if ((found !== null || this.hashed) && found !== value) throw new Fault(`wrong_${name}`, `${name} does not fit.`);
    }
    if (Object.keys(claim).some((name) => !EVENT.includes(name))) throw new Fault('unexpected_event', 'An event has no such field.');
    this.time(claim.at ?? null, move < wanted.version);
    if (!this.hashed) return;
    if (claim.previous !== this.previous) throw new Fault('wrong_previous', 'The event does not link to the one before.');
    const hash = await eventHash(claim);
    if (hash === null || claim.hash !== hash) throw new Fault('wrong_hash', 'The hash is not that of the event.');
    this.previous = hash;
    this.hashes.push(hash);
  }

  /** @param {unknown} at @param {boolean} goesOn whether the event before is of the same move */
  time(at, goesOn) {
    if (at === null && !this.hashed) return;
    if (typeof at !== 'string' || !isTime(at)) throw new Fault('wrong_time', 'A time is written as 2026-11-01T00:00:00.000Z.');
    if (at < this.at) throw new Fault('time_goes_back', 'The event is older than the one before.');
    if (goesOn && at !== this.at) throw new Fault('wrong_time', 'The events of one move happen at one time.');
    this.at = at;
  }

  // The whole

  async whole() {
    const { kind, number } = this.events[0].data.deal;
    const wanted = kind === 'numbered' ? await numberSeed(number) : this.secret ? this.seed : null;
    if (!this.opened) throw new Fault('commitment_not_opened', 'The seed does not open the commitment.', true);
    if ((this.log.seed ?? wanted) !== wanted) throw new Fault('wrong_seed', 'The seed is not that of the deal.', true);
    const ends = this.state.over ?? '*';
    if ((this.log.result ?? ends) !== ends) throw new Fault('wrong_result', 'The game ended otherwise.', true);
    if (this.hashed && (this.log.head ?? this.previous) !== this.previous) throw new Fault('wrong_head', 'The head is not the hash of the last event.', true);
  }

  async receipts() {
    for (const receipt of new Set(this.log.receipts ?? [])) {
      const said = await this.signed(receipt);
      if (!said || said.game !== this.log.game || !this.hashed) this.unchecked.push('receipt');
      else if (said.version > this.hashes.length) throw new Fault('log_cut', 'A receipt is of a later version than the log.', true);
      else if (this.hashes[said.version - 1] !== said.head) throw new Fault('log_rewritten', `A receipt shows that another event stood at version ${said.version}.`, true);
    }
  }

  /** @returns {Promise<boolean | null>} */
  async authentic() {
    const signature = this.log.signature ?? null;
    if (typeof signature !== 'string' || !this.key(signature)) {
      this.unchecked.push('signature');
      return null;
    }
    const said = await this.signed(signature);
    if (!said || said.game !== this.log.game || said.version !== this.events.length) return false;
    // A log that breaks a rule may be signed all the same, so its hashes are followed to the end.
    const whole = this.hashes.length === this.events.length;
    return said.head === (whole ? this.previous : await chainHead(this.events));
  }

  /** The key that a receipt (a compact JWS) names, if it is known. @param {string} receipt @returns {any} */
  key(receipt) {
    try {
      const { alg, kid } = JSON.parse(text(receipt.split('.')[0]));
      return alg === 'Ed25519' ? this.keys.find((key) => /** @type {any} */ (key).kid === kid) : undefined;
    } catch {
      return undefined;
    }
  }

  /** @param {string} receipt @returns {Promise<any>} what it says, or null if no known key signed it */
  async signed(receipt) {
    const jwk = this.key(receipt);
    const [header, payload, signature, ...more] = receipt.split('.');
    if (!jwk || !signature || more.length) return null;
    try {
      const key = await crypto.subtle.importKey('jwk', { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, 'Ed25519', false, ['verify']);
      const said = new TextEncoder().encode(`${header}.${payload}`);
      const holds = await crypto.subtle.verify('Ed25519', key, /** @type {BufferSource} */ (bytes(signature)), said);
      return holds ? JSON.parse(text(payload)) : null;
    } catch {
      return null;
    }
  }
}

/** @param {Json[]} events @returns {Promise<string | null>} the hash of the last, whatever they say, if they are a chain */
async function chainHead(events) {
  let previous = '0'.repeat(64);
  for (const event of events) {
    const hash = await eventHash(event);
    if (event.previous !== previous || hash === null || event.hash !== hash) return null;
    previous = hash;
  }
  return previous;
}

/** Say what is wrong with the data of a first event, or return null. @param {Json} data @returns {string | null} */
function badDeal(data) {
  const { rules, deal, grid, deck } = data;
  if (data.format !== 1 || data.rules_version !== 1) return 'its format is not known';
  if (!hasExactly(data, DEALT) || !hasExactly(rules, RULES) || !hasExactly(deal, DEAL)) return 'a field is missing or unknown';
  const bad = badRules(rules);
  if (bad) return bad;
  const cards = packCards(rules);
  const rows = Array.isArray(grid) && grid.every((row) => Array.isArray(row));
  if (!rows || !grid.flat().every((/** @type {any} */ card) => cards.includes(card))) return 'the grid holds what is no card of the pack';
  if (!Number.isInteger(data.stock) || !VARIANTS.includes(data.variant)) return 'there is no such variant';
  const { kind, number } = deal;
  if (ALGORITHMS[kind] === undefined || data.algorithm !== ALGORITHMS[kind] || data.ranked !== false || data.deadline !== null) return 'its kind is not known or does not fit';
  if ((number !== null) !== (kind === 'numbered' || kind === 'pysol') || (deck !== null) !== (kind === 'deck')) return 'another kind has such fields';
  if (number !== null) {
    if (typeof number !== 'string' || !/^(0|[1-9]\d{0,19})$/.test(number)) return 'the number is none';
    if (kind === 'pysol' ? number === '0' : BigInt(number) >= 1n << 64n) return 'there is no such number';
  }
  if (deck !== null && (typeof deck !== 'string' || deck.split(' ').sort().join() !== cards.sort().join())) return 'the deck is not the pack';
  if (kind !== 'secret') return deal.commitment === null && deal.client_seed === null && deal.fairness === 'open' ? null : 'it is open';
  if (typeof deal.commitment !== 'string' || !HASH.test(deal.commitment)) return 'it has no commitment';
  if (typeof deal.client_seed !== 'string' || new TextEncoder().encode(deal.client_seed).length > 64) return 'the client seed is too long';
  const fair = deal.fairness === 'committed' || (deal.fairness === 'joint' && deal.client_seed !== '');
  return fair ? null : 'it is committed, or joint with a client seed';
}

/** Say why no game can be played by these rules, or return null. @param {Json} rules @returns {string | null} */
function badRules(rules) {
  const { decks, ranks, rows, columns, match, total, equals, single, fixed, reach, close_up, packing } = rules;
  const of = (/** @type {string} */ some, /** @type {string} */ all) => typeof some === 'string' && [...all].filter((rank) => some.includes(rank)).join('') === some;
  const whole = (/** @type {unknown} */ number) => Number.isInteger(number) && 2 <= Number(number) && Number(number) <= 10;
  if (![1, 2].includes(decks) || !of(ranks, RANKS) || !ranks) return 'there is no such pack';
  if (![equals, single, fixed].every((some) => of(some, ranks))) return 'a rank is not in the pack';
  if (!whole(rows) || !whole(columns) || rows * columns > 4 * decks * ranks.length) return 'the grid is too small or too large';
  const known = ['rank', 'suit', 'sum'].includes(match) && ['touching', 'line', 'anywhere'].includes(reach) &&
    ['free', 'wave', 'auto'].includes(close_up) && ['reading', 'columns', 'in-place', 'fill-first'].includes(packing);
  if (!known) return 'a rule is not known';
  if ((match === 'sum') !== (total !== null) || (total !== null && !(Number.isInteger(total) && 2 <= total && total <= 26))) return 'the total does not fit';
  if ((equals && match !== 'sum') || [...single].some((rank) => fixed.includes(rank))) return 'the ranks do not fit';
  if ((packing === 'in-place' || packing === 'fill-first') && close_up !== 'auto') return 'the packing goes with auto only';
  return null;
}

/** @param {any} object @param {string[]} names */
function hasExactly(object, names) {
  return Boolean(object) && typeof object === 'object' && Object.keys(object).sort().join() === [...names].sort().join();
}

/** @param {any} cells */
function areCells(cells) {
  const whole = (/** @type {any} */ cell) => cell && Number.isInteger(cell.row) && Number.isInteger(cell.column);
  return Array.isArray(cells) && (cells.length === 1 || cells.length === 2) && cells.every(whole);
}

/** @param {string} at */
function isTime(at) {
  const day = new Date(`${at.slice(0, 19)}Z`);
  return TIME.test(at) && !Number.isNaN(day.getTime()) && day.toISOString().slice(0, 19) === at.slice(0, 19);
}

/** @param {any} value */
function canonically(value) {
  try {
    return canonical(value);
  } catch {
    return null;
  }
}

/** @param {string} base64url */
function bytes(base64url) {
  return Uint8Array.from(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
}

/** @param {string} base64url */
const text = (base64url) => new TextDecoder('utf-8', { fatal: true }).decode(bytes(base64url));
