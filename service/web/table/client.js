/**
 * A client of the API, to use as it is or to copy. It needs nothing but `fetch`; every request is repeated until an
 * answer comes, and a request that changes something carries a key, so that the server does it once however often it
 * comes.
 *
 * The types are those that openapi-typescript makes of `/openapi.json`.
 *
 * @typedef {import('./api').components['schemas']} Schemas
 * @typedef {Schemas['Game']} Game
 * @typedef {Schemas['NewGame']} NewGame
 * @typedef {Schemas['Position']} Position
 * @typedef {Schemas['Event']} GameEvent
 * @typedef {Schemas['PlainMove']} Move
 * @typedef {Schemas['Cell']} Cell
 * @typedef {Schemas['Rules']} Rules
 * @typedef {Schemas['Variant']} Variant
 * @typedef {Schemas['Log']} Log
 * @typedef {Schemas['Hint']} Hint
 * @typedef {Schemas['Analysis']} Analysis
 *
 * @typedef {object} Asked What a request carries.
 * @property {unknown} [body] sent as JSON
 * @property {string | null} [token] of the game
 * @property {string} [key] makes a request that changes something safe to repeat
 * @property {string} [tag] what the game must still be
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal] ends the repeating
 */

/** A refusal: `code` is stable, `message` says what is wrong this time. */
export class Problem extends Error {
  /** @param {Schemas['Problem']} document */
  constructor(document) {
    super(document.detail);
    this.code = document.code;
    this.status = document.status;
    this.document = document;
  }
}

/** Return a key for a request: a random UUID. (The browser's own `randomUUID` is not there on plain http.) */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;

export class Client {
  /**
   * @param {string} base where the API is, `./` for the folder of the page
   * @param {(online: boolean) => void} [onLine] told when answers stop coming, and when they come again
   */
  constructor(base = './', onLine = () => {}) {
    this.base = new URL(base, document.baseURI);
    this.onLine = onLine;
    /** What names each game as it was seen last; a move made on anything else is refused. @type {Map<string, string>} */
    this.tags = new Map();
  }

  /** @returns {Promise<Variant[]>} */
  async variants() {
    return (await this.#json('GET', 'v1/variants')).items;
  }

  /**
   * Make a deal: with its id and a client seed of your own a game is provably fair.
   * @param {string} variant
   * @returns {Promise<Schemas['Deal']>}
   */
  newDeal(variant) {
    return this.#json('POST', 'v1/deals', { body: { variant }, key: newKey() });
  }

  /** @param {string} id @returns {Promise<Schemas['Deal']>} */
  deal(id) {
    return this.#json('GET', `v1/deals/${id}`);
  }

  /** @param {Schemas['GameRequest']} body @returns {Promise<NewGame>} */
  async newGame(body) {
    const response = await this.#ask('POST', 'v1/games', { body, key: newKey() });
    const game = await response.json();
    this.#remember(game.id, response);
    return game;
  }

  /** @param {string} id @param {string | null} [token] @returns {Promise<Game>} */
  game(id, token) {
    return this.#tagged(id, 'GET', '', { token });
  }

  /**
   * Make moves, all or none. Send the same key again to learn the answer to a request that was lost.
   * @param {string} id
   * @param {string} token
   * @param {Move[]} moves
   * @param {{key?: string, tag?: string}} [terms] `tag` names the game that the moves were thought for
   * @returns {Promise<Schemas['Moves']>}
   */
  move(id, token, moves, { key = newKey(), tag = this.tags.get(id) } = {}) {
    return this.#tagged(id, 'POST', '/moves', { body: { moves }, token, key, tag });
  }

  /**
   * Ask whether moves are legal, and change nothing. Throws the `Problem` that the moves would get.
   * @param {string} id
   * @param {string} token
   * @param {Move[]} moves
   */
  tryMoves(id, token, moves) {
    return this.#json('POST', `v1/games/${id}/moves?validate_only=true`, { body: { moves }, token });
  }

  /**
   * @param {string} id
   * @param {string} token
   * @param {Schemas['HintRequest']['level']} level
   * @returns {Promise<Hint>}
   */
  hint(id, token, level) {
    return this.#tagged(id, 'POST', '/hints', { body: { level }, token, key: newKey() });
  }

  /** All events of a game after a version. @param {string} id @param {string | null} [token] @param {number} [after] */
  async events(id, token, after = 0) {
    /** @type {GameEvent[]} */
    const found = [];
    for (let page; !page || page.next; after = found.at(-1)?.version ?? after) {
      page = await this.#json('GET', `v1/games/${id}/events?after=${after}&limit=1000`, { token });
      found.push(...page.items);
    }
    return found;
  }

  /** @param {string} id @param {number} version @param {string | null} [token] @returns {Promise<Position>} */
  position(id, version, token) {
    return this.#json('GET', `v1/games/${id}/positions/${version}`, { token });
  }

  /** @param {string} id @param {string | null} [token] @returns {Promise<Log>} */
  log(id, token) {
    return this.#json('GET', `v1/games/${id}/log`, { token });
  }

  /** @param {string} id @param {string | null} [token] @returns {Promise<Analysis>} */
  analysis(id, token) {
    return this.#json('GET', `v1/games/${id}/analysis`, { token });
  }

  /** The public keys that logs and receipts are signed with. @returns {Promise<{keys: JsonWebKey[]}>} */
  keys() {
    return this.#json('GET', '.well-known/jwks.json');
  }

  /**
   * Yield the events of a game after a version, and go on with those that come until the game is over.
   * @param {string} id
   * @param {{after?: number, token?: string | null, signal?: AbortSignal}} [from]
   * @returns {AsyncGenerator<GameEvent>}
   */
  async *follow(id, { after = 0, token, signal } = {}) {
    while (!signal?.aborted) {
      const headers = { Accept: 'text/event-stream', 'Last-Event-ID': String(after) };
      const response = await this.#ask('GET', `v1/games/${id}/events`, { token, headers, signal });
      if (response.status === 204) return;
      for await (const event of eventsOf(response)) {
        after = event.version;
        yield event;
      }
      await pause(FIRST_WAIT, signal);
    }
  }

  /** @param {string} id @param {Response} response */
  #remember(id, response) {
    const tag = response.headers.get('ETag');
    if (tag) this.tags.set(id, tag);
  }

  /**
   * Ask of a game and remember what names it now.
   * @param {string} id
   * @param {string} method
   * @param {string} path below that of the game
   * @param {Asked} asked
   * @returns {Promise<any>}
   */
  async #tagged(id, method, path, asked) {
    const response = await this.#ask(method, `v1/games/${id}${path}`, asked);
    this.#remember(id, response);
    return response.json();
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {Asked} [asked]
   * @returns {Promise<any>}
   */
  async #json(method, path, asked) {
    return (await this.#ask(method, path, asked)).json();
  }

  /**
   * Ask until an answer comes. Throws `Problem`, and whatever the signal aborts with.
   * @param {string} method
   * @param {string} path relative to the base
   * @param {Asked} [asked]
   * @returns {Promise<Response>}
   */
  async #ask(method, path, { body, token, key, tag, headers, signal } = {}) {
    const sent = new Headers({ Accept: 'application/json', ...headers });
    if (token) sent.set('Authorization', `Bearer ${token}`);
    if (key) sent.set('Idempotency-Key', `"${key}"`);
    if (tag) sent.set('If-Match', tag);
    if (body !== undefined) sent.set('Content-Type', 'application/json');
    for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
      signal?.throwIfAborted();
      try {
        const response = await fetch(new URL(path, this.base), {
          method,
          headers: sent,
          body: body === undefined ? undefined : JSON.stringify(body),
          signal,
        });
        if (response.ok) {
          this.onLine(true);
          return response;
        }
        const retry = Number(response.headers.get('Retry-After'));
        if (!retry && response.status < 502) {
          this.onLine(true);
          throw await problemOf(response);
        }
        await pause(Math.max(1000 * retry, wait), signal); // too many requests, or a server that is starting
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // `fetch` says so when no answer came
        this.onLine(false);
        await pause(wait, signal);
      }
    }
  }
}

/** @param {Response} response @returns {Promise<Problem>} also of what a proxy answers by itself */
async function problemOf(response) {
  const { status, statusText } = response;
  const unknown = { type: 'about:blank', title: statusText, status, detail: `the server answers ${status} ${statusText}`, code: 'unknown' };
  return new Problem(await response.json().catch(() => unknown));
}

/**
 * Wait a while, or until the network is back.
 * @param {number} milliseconds
 * @param {AbortSignal} [signal]
 */
function pause(milliseconds, signal) {
  return new Promise((go) => {
    const over = new AbortController();
    const timer = setTimeout(() => end(), milliseconds);
    const end = () => {
      clearTimeout(timer);
      over.abort();
      go(undefined);
    };
    addEventListener('online', end, { signal: over.signal });
    signal?.addEventListener('abort', end, { signal: over.signal });
  });
}

/**
 * Yield the events of a stream (server-sent events), which `EventSource` could not read with a token.
 * @param {Response} response
 * @returns {AsyncGenerator<GameEvent>}
 */
async function* eventsOf(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (text + decoder.decode(value, { stream: true })).replaceAll('\r\n', '\n').split('\n\n');
      text = /** @type {string} */ (parts.pop());
      for (const part of parts) {
        const data = part.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5)).join('\n');
        if (data) yield JSON.parse(data);
      }
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // the connection is lost; the caller comes again
  } finally {
    reader.cancel().catch(() => {});
  }
}
