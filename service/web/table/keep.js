/** What this browser remembers: settings, tokens of games, moves under way. Without storage nothing is, and all works. */

const PREFIX = 'montecarlo.';

/** @param {string} name @returns {any} what was kept, or null */
export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name) ?? 'null');
  } catch {
    return null;
  }
}

/** @param {string} name @param {unknown} value null to forget */
export function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Private windows and full disks: go on without.
  }
}
