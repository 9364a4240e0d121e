/** The dialog that checks a log: that of the game on the table, or a file. @typedef {import('./verify.js').Verdict} Verdict */
import { make } from './dom.js';
import { counted } from './words.js';

/**
 * @param {HTMLDialogElement} dialog
 * @param {import('./client.js').Client} client
 * @param {{game: import('./client.js').Game | null, token: string | null, commitment: string | null, file?: File}} given
 */
export async function open(dialog, client, { game, token, commitment, file }) {
  const results = make('ul', { className: 'results' });
  const said = make('p', { role: 'status' });
  const show = async (/** @type {() => Promise<any>} */ read, /** @type {string} */ name, /** @type {string | null} */ promised) => {
    results.replaceChildren();
    said.textContent = `Checking ${name}…`;
    try {
      const [log, keys, { verify }] = await Promise.all([read(), client.keys(), import('./verify.js')]);
      const verdict = await verify(log, keys);
      results.replaceChildren(...lines(verdict, log, promised).map(([good, title, text]) => make('li', { className: good === null ? 'open' : good ? 'good' : 'bad' }, make('strong', {}, title), ` ${text}`)));
      said.textContent = `${name}: ${verdict.valid ? (verdict.authentic === false ? 'the events are right, the signature is not' : 'right in every event') : 'false'}.`;
    } catch (error) {
      said.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  const dropped = (/** @type {File} */ given) => show(async () => parsed(await given.text()), given.name, null);
  const current = () => show(() => client.log(/** @type {any} */ (game).id, token), 'this game', commitment);
  const pick = make('input', { type: 'file', id: 'log-file', accept: '.json,application/json', change: () => pick.files?.[0] && dropped(pick.files[0]) });
  dialog.replaceChildren(
    make('form', { method: 'dialog' },
      make('h2', { id: 'verify-title' }, 'Verify'),
      make('p', {}, 'The log is checked here, by this browser: the deal, every move, every hash and the signature. The server is not asked for its word.'),
      make('label', { className: 'drop', htmlFor: 'log-file' }, 'Check another log: choose a file, or drop it here', pick),
      said, results,
      make('p', { className: 'buttons' },
        ...(game ? [make('a', { href: new URL(`v1/games/${game.id}/log`, client.base).href, download: `${game.id}.json`, className: 'button' }, 'Save the log')] : []),
        make('button', { className: 'main' }, 'Done'))));
  dialog.ondragover = (event) => event.preventDefault();
  dialog.ondrop = (event) => {
    event.preventDefault();
    event.stopPropagation();
    const [first] = event.dataTransfer?.files ?? [];
    if (first) dropped(first);
  };
  if (!dialog.open) dialog.showModal();
  if (!crypto.subtle) said.textContent = 'A browser checks logs over https or on localhost only, where it has Web Crypto.';
  else if (file) await dropped(file);
  else if (game) await current();
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('This file is no JSON. Logs in notation can be checked by POST /v1/audits.');
  }
}

/**
 * Return what was found, line by line: good, bad or open; of what; and in words.
 * @param {Verdict} verdict
 * @param {any} log
 * @param {string | null} promised the commitment that this browser was given before the first move
 * @returns {[boolean | null, string, string][]}
 */
function lines({ valid, authentic, finished, revealed, checked, fault, unchecked }, log, promised) {
  /** @type {[boolean | null, string, string][]} */
  const found = [];
  const deal = log.events[0].data.deal ?? {};
  if (promised) {
    const kept = promised === deal.commitment;
    found.push([kept, 'Commitment', kept ? 'is the one this browser was given before the cards were dealt.' : 'is not the one that this browser was given.']);
  }
  const secret = deal.kind === 'secret';
  if (revealed) found.push([true, 'Deal', secret ? 'opens the commitment, and gives these cards.' : `gives these cards (${deal.kind}${deal.number ? ` ${deal.number}` : ''}).`]);
  else if (!fault) found.push([null, 'Deal', 'is revealed when the game is over; then its cards can be checked.']);
  if (fault) found.push([false, `Event ${fault.version}`, `${fault.message} (${fault.code})`]);
  found.push([valid ? true : null, 'Moves', `${counted(checked, 'event')} of ${log.events.length} follow by the rules${finished ? ', to the end' : ''}.`]);
  const hashed = !unchecked.includes('hashes');
  if (!fault) found.push([hashed || null, 'Chain', hashed ? 'Every event is bound to the one before by its hash.' : 'The events have no hashes.']);
  found.push([authentic, 'Signature', authentic ? 'This server signed this log.' : authentic === false ? 'This server signed something else.' : 'It is not signed by this server.']);
  if (unchecked.includes('hints')) found.push([null, 'Hints', 'were possible; the chances they name were not reckoned again.']);
  return found;
}
