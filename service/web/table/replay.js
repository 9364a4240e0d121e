/**
 * Looking back on a game: a scrubber over its versions, the list of its events, and what hindsight says of it.
 *
 * @typedef {import('./client.js').Position} Position
 * @typedef {import('./client.js').Analysis} Analysis
 *
 * @typedef {object} Track What is looked at: the game itself, or a line that would have won it.
 * @property {number} first
 * @property {number} last
 * @property {(at: number) => Promise<Shown>} position
 * @property {(at: number) => string} text
 *
 * @typedef {Pick<Position, 'grid' | 'stock' | 'removed' | 'cards_left' | 'legal_moves'>} Shown
 */
import { Problem } from './client.js';
import { make } from './dom.js';
import { counted, short, told } from './words.js';

const SPEEDS = { '0.5×': 2000, '1×': 1000, '2×': 500, '4×': 250 };
const COLOURS = { winnable: 'var(--good)', unwinnable: 'var(--bad)', undecided: 'var(--unsure)' };

export class Replay {
  /**
   * @param {import('./client.js').Client} client
   * @param {import('./client.js').Game} game
   * @param {string | null} token
   * @param {import('./board.js').Board} board
   * @param {{controls: HTMLElement, side: HTMLElement}} places
   * @param {AbortSignal} signal when to stop
   * @param {(position: Shown) => void} counters shows the numbers beside the board
   */
  constructor(client, game, token, board, { controls, side }, signal, counters) {
    this.client = client;
    this.game = game;
    this.token = token;
    this.board = board;
    this.signal = signal;
    this.counters = counters;
    /** @type {Map<number, Promise<Position>>} */
    this.known = new Map();
    this.at = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;

    const button = (/** @type {string} */ name, /** @type {string} */ path, /** @type {() => void} */ click) => {
      const made = make('button', { type: 'button', click, 'aria-label': name });
      made.append(icon(path));
      return made;
    };
    this.range = make('input', { type: 'range', 'aria-label': 'Version', input: () => this.go(Number(this.range.value)) });
    this.strip = make('div', { className: 'strip', 'aria-hidden': 'true' });
    this.runs = button('Play', PLAY, () => (this.timer ? this.stop() : this.run()));
    this.speed = make('select', { 'aria-label': 'Speed' }, ...Object.entries(SPEEDS).map(([name, wait]) => new Option(name, String(wait), wait === 1000, wait === 1000)));
    this.said = make('p', { role: 'status', className: 'said' });
    this.verdict = make('div', { className: 'verdict', role: 'status' });
    controls.replaceChildren(
      make('div', { className: 'scrubber' }, this.strip, this.range),
      make('div', { className: 'player' },
        button('First', 'M5 4v12M15 4 7 10l8 6z', () => this.step(-Infinity)),
        button('Back', 'M13 4 5 10l8 6z', () => this.step(-1)),
        this.runs,
        button('Forward', 'm7 4 8 6-8 6z', () => this.step(1)),
        button('Last', 'M15 4v12M5 4l8 6-8 6z', () => this.step(Infinity)),
        this.speed),
      make('div', { className: 'under-player' }, this.said,
        make('button', { type: 'button', click: () => (location.hash = `#game=${game.id}`) }, 'Back to the game')));
    this.list = make('ol', {});
    this.left = make('p', { className: 'note', hidden: true });
    side.replaceChildren(this.verdict, make('h2', {}, 'Events'), this.list, this.left);
    signal.addEventListener('abort', () => this.stop());
  }

  /** @param {number} at the version to begin with */
  async open(at) {
    const events = await this.client.events(this.game.id, this.token);
    /** @type {Track} */
    this.whole = {
      first: 1,
      last: events.length,
      position: (version) => this.#position(version),
      text: (version) => `${version} of ${events.length}: ${told(events[version - 1])}`,
    };
    this.list.append(...events.map((event) => make('li', {}, make('button', { type: 'button', click: () => this.look(this.#whole, event.version) }, told(event)))));
    await this.look(this.whole, at);
    if (!this.game.deal.revealed || this.signal.aborted) return;
    const { cards } = await this.client.deal(this.game.deal.id);
    const { stock } = this.game;
    this.left.hidden = !stock;
    this.left.textContent = `Left in the stock: ${(cards ?? '').split(' ').slice(-stock).map(short).join(' ')}`;
    await this.#analyse();
  }

  get #whole() {
    return /** @type {Track} */ (this.whole);
  }

  /** Look at a track from a place on. @param {Track} track @param {number} at */
  look(track, at) {
    this.track = track;
    Object.assign(this.range, { min: String(track.first), max: String(track.last) });
    this.strip.hidden = track !== this.whole;
    return this.go(at);
  }

  /** @param {number} at */
  async go(at) {
    const track = /** @type {Track} */ (this.track);
    this.at = Math.min(Math.max(at, track.first), track.last);
    this.range.value = String(this.at);
    const text = track.text(this.at);
    this.range.setAttribute('aria-valuetext', text);
    this.said.textContent = text;
    if (track === this.whole) this.#mark();
    const asked = this.at;
    const position = await track.position(asked);
    if (this.signal.aborted || asked !== this.at || track !== this.track) return;
    this.board.show(position);
    this.counters(position);
    if (asked < track.last) track.position(asked + 1).catch(() => {}); // the next one will be there at once
  }

  /** @param {number} by */
  step(by) {
    this.stop();
    this.go(this.at + by);
  }

  run() {
    const track = /** @type {Track} */ (this.track);
    if (this.at === track.last) this.go(track.first);
    const next = async () => {
      await this.go(this.at + 1);
      if (this.timer && this.at < /** @type {Track} */ (this.track).last) this.timer = setTimeout(next, Number(this.speed.value));
      else this.stop();
    };
    this.timer = setTimeout(next, Number(this.speed.value) / 2);
    this.#label('Pause', PAUSE);
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.#label('Play', PLAY);
  }

  /** @param {string} name @param {string} path */
  #label(name, path) {
    this.runs.setAttribute('aria-label', name);
    this.runs.replaceChildren(icon(path));
  }

  /** Show in the list and in the address where we are. */
  #mark() {
    history.replaceState(null, '', `#game=${this.game.id}&at=${this.at}`);
    this.list.querySelector('[aria-current]')?.removeAttribute('aria-current');
    const here = this.list.children[this.at - 1]?.firstElementChild;
    here?.setAttribute('aria-current', 'step');
    // The list alone is scrolled, never the page.
    if (here instanceof HTMLElement) this.list.scrollTop = here.offsetTop - this.list.offsetTop - this.list.clientHeight / 2;
  }

  /** @param {number} version */
  #position(version) {
    let found = this.known.get(version);
    if (!found) {
      found = this.client.position(this.game.id, version, this.token);
      this.known.set(version, found);
    }
    return found;
  }

  async #analyse() {
    let analysis;
    try {
      this.#judge('Looking for what could have been…');
      analysis = await this.client.analysis(this.game.id, this.token);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return this.#judge(error.message);
    }
    if (this.signal.aborted) return;
    this.strip.style.background = `linear-gradient(to right, ${stops(analysis)})`;
    const { thrown_away } = analysis;
    const buttons = !thrown_away ? [] : [
      make('button', { type: 'button', click: () => this.look(this.#whole, thrown_away.version) }, 'Show where'),
      make('button', { type: 'button', click: () => this.#win(thrown_away) }, 'Play the line that wins'),
    ];
    this.#judge(summary(analysis, this.game.status), ...buttons);
  }

  /** @param {string} text @param {...HTMLElement} buttons */
  #judge(text, ...buttons) {
    this.verdict.replaceChildren(make('span', {}, text), ...buttons);
  }

  /** Play a line that would have won. Its cards come from the revealed deal, its moves from the rules. @param {NonNullable<Analysis['thrown_away']>} thrown */
  async #win({ version, line }) {
    const [{ verify }, rulebook, log, keys] = await Promise.all([
      import('./verify.js'), import('./rules.js'), this.client.log(this.game.id, this.token), this.client.keys(),
    ]);
    const { states, order, rules } = await verify(log, keys);
    if (!order || !rules || !states[version - 1]) return;
    let state = states[version - 1];
    const along = [state];
    const texts = [`The line that wins, from version ${version}`];
    for (const move of line) {
      const happened = rulebook.play(rules, state, move, order, null);
      const first = state.version + 1;
      for (const event of happened) state = rulebook.fold(rules, state, event, first);
      along.push(state);
      texts.push(happened.map(({ type, data }) => (type === 'removed' ? `Remove ${data.cards.map(short).join(' ')}` : type === 'refilled' ? 'Close up and deal' : '')).filter(Boolean).join(', ') || 'Close up');
    }
    const size = rulebook.packSize(rules);
    await this.look({
      first: 0,
      last: line.length,
      position: async (at) => {
        const { position } = along[at];
        const rows = Array.from({ length: rules.rows }, (_, row) => position.grid.slice(row * rules.columns, (row + 1) * rules.columns));
        const { length: removed } = position.removed;
        return { grid: rows, stock: size - position.dealt, removed, cards_left: size - removed, legal_moves: /** @type {any} */ (rulebook.legalMoves(rules, position)) };
      },
      text: (at) => (at ? `${at} of ${line.length}: ${texts[at]}` : texts[0]),
    }, 0);
    this.run();
  }
}

const PLAY = 'm6 3.5 10 6.5-10 6.5z';
const PAUSE = 'M6.5 4v12m7-12v12';

/** @param {string} path */
function icon(path) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const drawn = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  svg.setAttribute('viewBox', '0 0 20 20');
  svg.setAttribute('aria-hidden', 'true');
  drawn.setAttribute('d', path);
  svg.append(drawn);
  return svg;
}

/** Return the verdicts on all versions as stops of a gradient. @param {Analysis} analysis */
function stops({ versions }) {
  const share = (/** @type {number} */ place) => `${((100 * place) / versions.length).toFixed(2)}%`;
  return versions.map(({ verdict }, place) => `${COLOURS[verdict]} ${share(place)} ${share(place + 1)}`).join(', ');
}

/** @param {Analysis} analysis @param {string} status */
function summary({ verdict, versions, thrown_away }, status) {
  if (status === 'won') return 'Won, as it could be.';
  if (verdict === 'unwinnable') return 'This deal could not be won by anyone.';
  if (thrown_away) {
    const { version, events } = thrown_away;
    return `It could be won up to version ${version}, and was thrown away there: ${events.map(told).join(', ')}.`;
  }
  const sure = versions.filter((seen) => seen.verdict !== 'undecided').length;
  return `Whether this deal could be won is not decided (${counted(sure, 'version')} of ${versions.length} are).`;
}
