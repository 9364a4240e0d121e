/** Deals: the order of the cards from a seed or a number, as it is written down for everyone to repeat. */
import { shake256 } from './shake.js';

/** @typedef {{decks: number, ranks: string}} Pack */

export const RANKS = 'A23456789TJQK';
const utf8 = new TextEncoder();

/** @param {Pack} pack @param {string} [suits] @returns {string[]} the pack in order */
export function packCards({ decks, ranks }, suits = 'CDHS') {
  const deck = [...suits].flatMap((suit) => [...ranks].map((rank) => rank + suit));
  return Array.from({ length: decks }, () => deck).flat();
}

/** @param {string | Uint8Array} message @returns {Promise<string>} SHA-256, in hexadecimal */
export async function sha256(message) {
  const bytes = typeof message === 'string' ? utf8.encode(message) : message;
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', /** @type {BufferSource} */ (bytes))));
}

/** @param {string} seed 32 bytes in hexadecimal @returns {Promise<string>} what binds a server to it */
export function commitment(seed) {
  return sha256(new Uint8Array([...utf8.encode('montecarlo/commitment/v1:'), ...unhex(seed)]));
}

/** @param {string} number @returns {Promise<string>} the seed of a numbered deal */
export function numberSeed(number) {
  return sha256(`montecarlo/number/v1:${number}`);
}

/**
 * Return the order that a seed and a client seed give, first dealt first.
 * @param {Pack} pack
 * @param {string} seed
 * @param {string} clientSeed
 */
export async function v1Order(pack, seed, clientSeed) {
  const secret = /** @type {BufferSource} */ (unhex(seed));
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const mixed = await crypto.subtle.sign('HMAC', key, utf8.encode(`montecarlo/deal/v1:${clientSeed}`));
  const stream = shake256(new Uint8Array(mixed));
  const word = () => [0, 0, 0, 0].reduce((sum) => sum * 256 + stream.next().value, 0);
  return shuffled(packCards(pack), (below) => {
    // Words beyond the last whole multiple would favour low cards, and are dropped.
    for (;;) {
      const drawn = word();
      if (drawn < Math.floor(2 ** 32 / below) * below) return drawn % below;
    }
  });
}

/** Return the order of a deal of PySolFC by its number. @param {Pack} pack @param {bigint} number */
export function pysolOrder(pack, number) {
  let cards = packCards(pack, 'CSHD');
  if (number >= 32000n) {
    const random = mersenneTwister(number);
    return shuffled(cards, (below) => Math.floor(random() * below)).reverse();
  }
  if (cards.length === 52) cards = [...RANKS].flatMap((rank) => [...'CDHS'].map((suit) => rank + suit));
  let state = number;
  return shuffled(cards, (below) => {
    state = (state * 214013n + 2531011n) & 0x1ffffffffn;
    return Number((state >> 16n) & 0x7fffn) % below;
  }).reverse();
}

/** Fisher and Yates, from the end. @param {string[]} cards @param {(below: number) => number} draw */
function shuffled(cards, draw) {
  for (let i = cards.length - 1; i > 0; i--) {
    const j = draw(i + 1);
    [cards[i], cards[j]] = [cards[j], cards[i]];
  }
  return cards;
}

/** Matsumoto's MT19937, seeded by a number and read as Python does: 53 bits at a time. @param {bigint} number */
function mersenneTwister(number) {
  const key = [];
  for (let rest = number; rest || !key.length; rest >>= 32n) key.push(Number(rest & 0xffffffffn));
  const state = new Uint32Array(624);
  state[0] = 19650218;
  for (let i = 1; i < 624; i++) state[i] = Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), 1812433253) + i;
  const mix = (/** @type {number} */ i, /** @type {number} */ factor) =>
    state[i] ^ Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), factor);
  let i = 1;
  const next = () => {
    if (++i < 624) return;
    state[0] = state[623];
    i = 1;
  };
  for (let k = 0; k < 624; k++, next()) state[i] = mix(i, 1664525) + key[k % key.length] + (k % key.length);
  for (let k = 0; k < 623; k++, next()) state[i] = mix(i, 1566083941) - i;
  state[0] = 0x80000000;

  let at = 624;
  const word = () => {
    if (at === 624) {
      for (let k = 0; k < 624; k++) {
        const y = (state[k] & 0x80000000) | (state[(k + 1) % 624] & 0x7fffffff);
        state[k] = state[(k + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      at = 0;
    }
    let y = state[at++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
  return () => ((word() >>> 5) * 67108864 + (word() >>> 6)) / 9007199254740992;
}

/** @param {Uint8Array} bytes */
function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {string} text */
function unhex(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
