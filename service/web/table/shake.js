/** SHAKE-256 (FIPS 202), which browsers do not have. Lanes are BigInts: slow, and short enough to be read. */

const LANE = (1n << 64n) - 1n;
const RATE = 136; // bytes of the state that one permutation gives
const ROUNDS = [
  0x1n, 0x8082n, 0x800000000000808an, 0x8000000080008000n, 0x808bn, 0x80000001n, 0x8000000080008081n,
  0x8000000000008009n, 0x8an, 0x88n, 0x80008009n, 0x8000000an, 0x8000808bn, 0x800000000000008bn, 0x8000000000008089n,
  0x8000000000008003n, 0x8000000000008002n, 0x8000000000000080n, 0x800an, 0x800000008000000an, 0x8000000080008081n,
  0x8000000000008080n, 0x80000001n, 0x8000000080008008n,
];

/** @param {bigint} lane @param {number} by */
const turned = (lane, by) => ((lane << BigInt(by)) | (lane >> BigInt(64 - by))) & LANE;

/** Permute a state of 25 lanes, lane x + 5y. @param {bigint[]} a */
function permute(a) {
  for (const constant of ROUNDS) {
    const sums = [0, 1, 2, 3, 4].map((x) => a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20]);
    for (let i = 0; i < 25; i++) a[i] ^= sums[(i + 4) % 5] ^ turned(sums[(i + 1) % 5], 1);
    // Lanes go round a path of 24 places, each turned further than the one before.
    let [x, y, moving] = [1, 0, a[1]];
    for (let step = 1; step < 25; step++) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const here = x + 5 * y;
      [a[here], moving] = [turned(moving, ((step * (step + 1)) / 2) % 64), a[here]];
    }
    for (let row = 0; row < 25; row += 5) {
      const lanes = a.slice(row, row + 5);
      for (let i = 0; i < 5; i++) a[row + i] = lanes[i] ^ (~lanes[(i + 1) % 5] & LANE & lanes[(i + 2) % 5]);
    }
    a[0] ^= constant;
  }
}

/**
 * Yield the stream of SHAKE-256, byte by byte, without end.
 * @param {Uint8Array} message
 * @returns {Generator<number, never>}
 */
export function* shake256(message) {
  const padded = new Uint8Array(Math.ceil((message.length + 1) / RATE) * RATE);
  padded.set(message);
  padded[message.length] ^= 0x1f;
  padded[padded.length - 1] ^= 0x80;
  const state = Array(25).fill(0n);
  for (let block = 0; block < padded.length; block += RATE) {
    for (let i = 0; i < RATE; i++) state[i >> 3] ^= BigInt(padded[block + i]) << BigInt(8 * (i & 7));
    permute(state);
  }
  for (;;) {
    for (let i = 0; i < RATE; i++) yield Number((state[i >> 3] >> BigInt(8 * (i & 7))) & 0xffn);
    permute(state);
  }
}
