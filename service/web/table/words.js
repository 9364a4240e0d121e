/** What cards and events are called. @typedef {import('./client.js').GameEvent} GameEvent */

/** @type {Record<string, string>} */
const RANKS = { A: 'ace', 2: 'two', 3: 'three', 4: 'four', 5: 'five', 6: 'six', 7: 'seven', 8: 'eight', 9: 'nine', T: 'ten', J: 'jack', Q: 'queen', K: 'king' };
/** @type {Record<string, string>} */
const SUITS = { C: 'clubs', D: 'diamonds', H: 'hearts', S: 'spades' };
/** @type {Record<string, string>} */
const SIGNS = { C: '♣', D: '♦', H: '♥', S: '♠' };

/** "QH" as "queen of hearts". @param {string} card */
export const spoken = (card) => `${RANKS[card[0]]} of ${SUITS[card[1]]}`;

/** "TH" as "10♥". @param {string} card */
export const short = (card) => card[0].replace('T', '10') + SIGNS[card[1]];

/** Cards in a text of the server, as "QH", with their signs. @param {string} text */
export const signed = (text) => text.replace(/\b[A2-9TJQK][CDHS]\b/g, short);

/** A number and what is counted. @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** Say what an event did, in a few words. @param {GameEvent} event @returns {string} */
export function told({ type, data }) {
  const cards = (data.cards ?? []).map(short).join(' ');
  switch (type) {
    case 'dealt': return 'Dealt';
    case 'removed': return `Removed ${cards}`;
    case 'compacted': return 'Closed up';
    case 'refilled': return `Dealt ${cards}`;
    case 'undone': return `Back to ${data.to}`;
    case 'redone': return `Forward to ${data.to}`;
    case 'hinted': return 'Hint';
    case 'resigned': return 'Resigned';
    default: return 'Won';
  }
}
