/**
 * The page: what is open (a game to play, to watch or to look back on), the buttons, the dialogs and the settings.
 *
 * @typedef {import('./client.js').Game} Game
 * @typedef {import('./client.js').Cell} Cell
 * @typedef {import('./client.js').GameEvent} GameEvent
 * @typedef {import('./client.js').Variant} Variant
 * @typedef {import('./play.js').Change} Change
 */
import { Board } from './board.js';
import { Client, Problem, newKey } from './client.js';
import { keep, kept } from './keep.js';
import { Play, same } from './play.js';
import { counted, short, signed, spoken, told } from './words.js';

/** @param {string} id @returns {any} */
const $ = (id) => document.getElementById(id);

const client = new Client('./', (online) => {
  $('line').hidden = online;
  $('line').textContent = 'No connection. Your moves are kept and sent when it is back.';
});
const board = new Board($('board'), { stock: $('stock'), removed: $('removed') }, choose);

/** @type {Promise<Variant[]>} */
let variants;
/** The game being played. @type {Play | null} */
let play = null;
/** Ends what watches a game or looks back on one. */
let leave = new AbortController();
/** @type {Cell[]} */
let selected = [];
/** @type {Cell[]} */
let hinted = [];

// What is open is said by the address: #game=ID, #game=ID&at=VERSION, #variant=ID&deal=KIND:NUMBER, #new.

async function open() {
  const asked = new URLSearchParams(location.hash.slice(1));
  leave.abort();
  const { signal } = (leave = new AbortController());
  play?.close();
  play = null;
  selected = hinted = [];
  const id = asked.get('game') ?? (asked.has('deal') || asked.has('new') ? null : kept('last'));
  try {
    if (!id) await deal(asked.get('variant') ?? 'monte-carlo', asked.get('deal') ?? 'secret');
    else if (asked.has('at')) await lookBack(id, Number(asked.get('at')));
    else await resume(id);
  } catch (error) {
    if (signal.aborted) return; // something else was opened meanwhile
    if (!(error instanceof Problem)) throw error;
    if (!asked.has('game') && id) {
      keep('last', null); // a game that is not there any more
      await open();
    } else say(sentence(error.message));
  }
}

/** Play a game whose token is here, watch another. @param {string} id */
async function resume(id) {
  const token = kept(`token.${id}`);
  if (!token) return watch(id);
  const { signal } = leave;
  const opened = await Play.open(client, id, token, changed);
  if (signal.aborted) return opened.close();
  keep('last', id);
  history.replaceState(null, '', `#game=${id}`);
  start(opened);
  say(play?.game.status === 'playing' ? `Your game goes on. ${state()}` : state());
}

/** Watch a game live. @param {string} id */
async function watch(id) {
  const { signal } = leave;
  let game = await client.game(id);
  show(game, 'watch');
  say(`You are watching. ${state(game)}`);
  for await (const event of client.follow(id, { after: game.version, signal })) {
    if (event.version <= game.version) continue;
    game = await client.game(id);
    if (signal.aborted) return;
    show(game, 'watch');
    say(`${told(event)}. ${state(game)}`);
  }
}

/** Look back on a game, from a version on. @param {string} id @param {number} at */
async function lookBack(id, at) {
  const token = kept(`token.${id}`);
  const { signal } = leave;
  const [game, { Replay }] = await Promise.all([client.game(id, token), import('./replay.js')]);
  if (signal.aborted) return;
  show(game, 'replay');
  const replay = new Replay(client, game, token, board, { controls: $('replay'), side: $('side') }, signal, counters);
  await replay.open(at || game.version);
}

/** Deal a game and play it. @param {string} variant @param {string} deal "secret", or kind and number with a colon */
async function deal(variant, deal, hidden = false) {
  leave.abort();
  play?.close();
  play = null;
  const { signal } = (leave = new AbortController());
  const [kind, number] = deal.split(':');
  /** @type {any} */
  let asked = { kind, number };
  let promised = null;
  if (kind === 'secret') {
    // The server is bound to its seed before it hears ours, so neither side can choose the cards.
    const made = await client.newDeal(variant);
    asked = { id: made.id, client_seed: newKey() };
    promised = made.commitment;
  } else if (kind === 'deck') asked = { kind, cards: number };
  const game = await client.newGame({ variant, deal: asked, visibility: hidden ? 'private' : 'public' });
  const { token, ...dealt } = game;
  keep(`token.${game.id}`, token);
  keep(`commitment.${game.id}`, promised);
  keep('last', game.id);
  if (signal.aborted) return;
  history.replaceState(null, '', `#game=${game.id}`);
  const grid = game.grid.map((row) => row.map(() => null));
  board.show({ grid, stock: game.stock + 1 }, true);
  start(new Play(client, dealt, token, changed), false);
  const { summary } = (await variants).find(({ id }) => id === variant) ?? { summary: state() };
  say(game.status === 'playing' ? summary : state());
}

/** @param {Play} opened @param {boolean} [still] without dealing the cards one by one */
function start(opened, still = true) {
  play = opened;
  selected = hinted = [];
  show(play.game, 'play', still);
}

// Choosing and moving

/** @param {Cell} cell */
function choose(cell) {
  if (!play || play.over || play.waiting) return;
  const card = play.game.grid[cell.row - 1][cell.column - 1];
  if (!card) return letGo();
  if (!hinted.some((other) => same(other, cell))) hinted = [];
  if (selected.some((other) => same(other, cell))) return letGo();
  const removal = play.removal([...selected, cell]) ?? play.removal([cell]);
  if (removal) {
    selected = hinted = [];
    play.make(removal);
    return;
  }
  if (selected.length) refuse([...selected, cell]);
  selected = [cell];
  sound('select');
  render();
}

function letGo() {
  selected = [];
  render();
}

/** Say why two cells are no pair. @param {Cell[]} cells */
async function refuse(cells) {
  const asked = play;
  board.shake(cells);
  sound('refuse');
  const cards = cells.map(({ row, column }) => short(/** @type {string} */ (play?.game.grid[row - 1][column - 1])));
  const told = `${cards.join(' and ')} cannot be removed together.`;
  say(told);
  const reason = await asked?.reason(cells);
  if (reason && asked === play && $('said').textContent === told) say(sentence(reason));
}

/** @param {string} type of a move without cells */
function make(type) {
  selected = hinted = [];
  play?.make({ type: /** @type {any} */ (type), cells: [] });
}

/** Show what became of a move. @param {Change} change */
function changed({ why, events, message }) {
  if (!play) return;
  render();
  if (why === 'asked') {
    if (play.game.removed > play.confirmed.removed) sound('remove');
    return;
  }
  if (message) {
    sound('refuse');
    say(sentence(message));
    return;
  }
  if (events.some(({ type }) => type === 'refilled')) sound('deal');
  if (play.game.status === 'won') sound('won');
  const news = events.filter(({ type }) => type !== 'compacted' && type !== 'won').map(spokenEvent);
  if (!play.pending.length) say([...news, state()].join('. '));
}

/** @param {GameEvent} event */
function spokenEvent(event) {
  if (event.type === 'removed') return `Removed ${(event.data.cards ?? []).map(spoken).join(' and ')}`;
  if (event.type === 'refilled') return `Dealt ${counted((event.data.cards ?? []).length, 'card')}`;
  return { undone: 'Taken back', redone: 'Made again', resigned: 'Resigned' }[/** @type {string} */ (event.type)] ?? told(event);
}

/** Say how a game stands. @param {Game} [game] */
function state(game = play?.game) {
  if (!game) return '';
  const pairs = game.legal_moves.filter(({ type }) => type === 'remove').length;
  const left = counted(game.cards_left, 'card');
  switch (game.status) {
    case 'won': return 'Won: every card that could go is gone!';
    case 'lost': return `Over, with ${left} left.`;
    case 'blocked': return `Blocked: no pair is left and nothing to close up. Undo, or resign to see the deal.`;
    default: return pairs ? `${counted(pairs, 'pair')} in sight.` : 'No pair in sight: close up.';
  }
}

async function hint() {
  if (!play || play.waiting) return;
  const asked = play;
  $('hint').disabled = true;
  try {
    const { move, win_probability, interval } = await asked.hint(kept('settings')?.level ?? 'fair');
    if (asked !== play) return;
    selected = [];
    hinted = move.cells;
    const cards = move.cells.map(({ row, column }) => short(asked.game.grid[row - 1][column - 1] ?? ''));
    const chance = win_probability === null ? '' : ` Chance to win: ${percent(win_probability)} (${percent(interval[0])}–${percent(interval[1])}).`;
    render();
    $('deal').classList.toggle('hinted', !move.cells.length);
    say((cards.length ? `Remove ${cards.join(' and ')}.` : 'Close up.') + chance);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say(sentence(error.message));
  } finally {
    render();
  }
}

/** What the server says of a problem, as a sentence. @param {string} text */
const sentence = (text) => signed(text[0].toUpperCase() + text.slice(1)).replace(/\.?$/, '.');

/** @param {number} share */
const percent = (share) => `${Math.round(100 * share)}%`;

// Showing

/**
 * Show a game as one plays it, watches it or looks back on it.
 * @param {Game} game
 * @param {'play' | 'watch' | 'replay'} mode
 * @param {boolean} [still]
 */
function show(game, mode, still = mode === 'replay') {
  document.documentElement.dataset.mode = mode;
  board.root.classList.toggle('fixed', mode !== 'play');
  board.root.setAttribute('aria-readonly', String(mode !== 'play'));
  for (const id of ['replay', 'side']) $(id).hidden = mode !== 'replay';
  $('said').hidden = mode === 'replay';
  const { kind, number } = game.deal;
  const dealt = number === null ? '' : ` · ${kind === 'pysol' ? 'PySolFC ' : ''}deal ${number}`;
  variants.then((all) => {
    const name = all.find(({ id }) => id === game.variant)?.name ?? game.variant;
    $('about').textContent = `${name}${dealt}${mode === 'watch' ? ' · watching' : mode === 'replay' ? ' · replay' : ''}`;
  });
  shown = game;
  render(still);
}

/** The game on the page. @type {Game | null} */
let shown = null;

/** @param {boolean} [still] */
function render(still = false) {
  if (play) shown = play.game;
  if (!shown) return;
  const mode = document.documentElement.dataset.mode;
  if (mode === 'replay') return;
  board.show({ grid: shown.grid, stock: shown.stock, selected, hinted, waiting: play?.waiting }, still);
  counters(shown);
  if (play && !play.waiting) $('deal').classList.remove('hinted');
  const over = shown.status === 'won' || shown.status === 'lost';
  const focus = over && $('actions').contains(document.activeElement);
  $('actions').hidden = !play || over;
  $('ended').hidden = !over;
  if (focus) $('again').focus(); // the button that ended the game is gone
  $('undo').disabled = !play?.canUndo;
  $('redo').disabled = !play?.canRedo;
  $('hint').disabled = !play || play.waiting || !shown.legal_moves.length;
  $('deal').disabled = !play?.dealing || play.waiting;
  $('deal').hidden = shown.rules.close_up === 'auto';
  $('deal').lastElementChild.textContent = shown.phase === 'refill' ? 'Deal' : 'Close up';
  $('resign').disabled = !play || over;
  $('restart').disabled = !play && !shown.deal.revealed;
  $('same').disabled = !shown.deal.revealed;
  $('share-deal').disabled = shown.deal.number === null;
  $('share').disabled = shown.visibility === 'private';
}

/** @param {import('./replay.js').Shown} game */
function counters({ stock, removed, cards_left, legal_moves }) {
  const numbers = { stock, removed, left: cards_left, pairs: legal_moves.filter(({ type }) => type === 'remove').length };
  for (const [id, number] of Object.entries(numbers)) $(id).querySelector('dd').textContent = number;
  $('stock').classList.toggle('empty', !stock);
}

/** @param {string} text */
function say(text) {
  $('said').textContent = text;
}

/** @param {string} name */
async function sound(name) {
  if (kept('settings')?.sound) (await import('./sound.js')).ring(name);
}

// Buttons

/** Ask before something that cannot be taken back. @param {string} title @param {string} text @param {string} yes */
function ask(title, text, yes) {
  $('ask-title').textContent = title;
  $('ask-text').textContent = text;
  $('ask-yes').textContent = yes;
  $('ask').returnValue = '';
  $('ask').showModal();
  return new Promise((go) => $('ask').addEventListener('close', () => go($('ask').returnValue === 'yes'), { once: true }));
}

/** Play the same cards again: a new game of an open deal, all moves taken back in one still hidden. */
async function restart() {
  if (!shown) return;
  const { variant, deal: dealt } = shown;
  if (dealt.number !== null) return deal(variant, `${dealt.kind}:${dealt.number}`);
  if (dealt.revealed) return deal(variant, `deck:${(await client.deal(dealt.id)).cards}`);
  if (play?.canUndo && (await ask('Restart this deal?', 'All moves are taken back, one by one. The log keeps them.', 'Restart'))) {
    for (let steps = play.steps.back; steps > 0; steps--) make('undo');
  }
}

/** Check the log of the game on the table, or a file. @param {File} [file] */
async function check(file) {
  const { open } = await import('./check.js');
  const [token, commitment] = [kept(`token.${shown?.id}`), kept(`commitment.${shown?.id}`)];
  await open($('verify'), client, { game: shown, token, commitment, file });
}

/** @param {string} hash */
async function copyLink(hash) {
  const link = new URL(`./${hash}`, location.href.split('#')[0]).href;
  try {
    await navigator.clipboard.writeText(link);
    say('The link is copied.');
  } catch {
    say(link); // without leave to copy, as on plain http, it can be copied by hand
  }
}

function startNew() {
  $('new-game').showModal();
}

/** What buttons do. @type {Record<string, () => unknown>} */
const buttons = {
  undo: () => make('undo'),
  redo: () => make('redo'),
  deal: () => play?.dealing && make(play.dealing.type),
  hint,
  again: startNew,
  'new-button': startNew,
  same: restart,
  restart,
  resign: async () => (await ask('Resign?', 'The game ends, and its deal is revealed.', 'Resign')) && make('resign'),
  share: () => copyLink(`#game=${shown?.id}`),
  'share-deal': () => copyLink(`#variant=${shown?.variant}&deal=${shown?.deal.kind}:${shown?.deal.number}`),
  'replay-button': () => (location.hash = `#game=${shown?.id}&at=${shown?.version}`),
  'look-back': () => (location.hash = `#game=${shown?.id}&at=1`),
  'verify-button': () => check(),
  'settings-button': () => $('settings').showModal(),
};
for (const [id, act] of Object.entries(buttons)) {
  $(id).addEventListener('click', () => {
    if ($('menu').contains($(id))) $('menu').hidePopover();
    act();
  });
}
for (const cancel of document.querySelectorAll('dialog .cancel')) {
  cancel.addEventListener('click', () => cancel.closest('dialog')?.close(''));
}
// Keys of one letter work on the board alone, where nobody types.
board.root.addEventListener('keydown', ({ key, ctrlKey, altKey, metaKey }) => {
  if (ctrlKey || altKey || metaKey) return;
  if (key === 'Escape') letGo();
  const id = { c: 'deal', u: 'undo', r: 'redo', h: 'hint', n: 'new-button' }[key.toLowerCase()];
  if (id && !$(id).disabled && !$(id).closest('[hidden]')) $(id).click();
});

// Dialogs

$('new-game').addEventListener('close', () => {
  if ($('new-game').returnValue !== 'deal') return;
  const kind = $('new-game').querySelector('[name=kind]:checked').value;
  $('new-game').returnValue = '';
  const hidden = $('private').checked;
  deal($('variant').value, kind === 'secret' ? kind : `${kind}:${$('number').value}`, hidden).catch((error) => {
    if (!(error instanceof Problem)) throw error;
    say(sentence(error.message));
  });
});
$('new-game').addEventListener('change', () => {
  const open = $('new-game').querySelector('[name=kind]:checked').value !== 'secret';
  $('number').hidden = !open;
  $('number').required = open;
  summary();
});

async function summary() {
  const variant = (await variants).find(({ id }) => id === $('variant').value);
  if (!variant) return;
  const odds = variant.odds.find(({ player }) => player === 'perfect') ?? variant.odds[0];
  const chance = !odds ? '' : odds.player === 'perfect' ? ` Perfect play wins ${percent(odds.chance)}.` : '';
  $('summary').textContent = variant.summary + chance;
}

// Settings

const SIZES = [0.9, 1, 1.1, 1.25, 1.5, 1.75, 2];

function settle() {
  const { size = 1, theme = '', four = false, less = false, sound = false, level = 'fair' } = kept('settings') ?? {};
  const { dataset, style } = document.documentElement;
  const dark = theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  for (const [name, on] of Object.entries({ dark, four, large: size > 1 })) on ? (dataset[name] = '') : delete dataset[name];
  dataset.motion = less ? 'less' : '';
  style.setProperty('--scale', String(SIZES[size]));
  $('size').textContent = percent(SIZES[size]);
  $('smaller').disabled = size === 0;
  $('larger').disabled = size === SIZES.length - 1;
  Object.assign($('theme'), { value: theme });
  Object.assign($('level'), { value: level });
  for (const [id, on] of Object.entries({ four, less, sound })) $(id).checked = on;
}

/** @param {Record<string, unknown>} change */
function set(change) {
  keep('settings', { size: 1, ...kept('settings'), ...change });
  settle();
}

$('smaller').addEventListener('click', () => set({ size: Math.max(0, (kept('settings')?.size ?? 1) - 1) }));
$('larger').addEventListener('click', () => set({ size: Math.min(SIZES.length - 1, (kept('settings')?.size ?? 1) + 1) }));
for (const id of ['four', 'less', 'sound']) $(id).addEventListener('change', () => set({ [id]: $(id).checked }));
for (const id of ['theme', 'level']) $(id).addEventListener('change', () => set({ [id]: $(id).value }));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', settle);

settle();
board.show({ grid: Array(5).fill(Array(5).fill(null)) }, true);
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer?.files ?? [];
  if (file) check(file);
});
addEventListener('hashchange', open);
addEventListener('visibilitychange', () => document.visibilityState === 'visible' && play?.refresh());
variants = client.variants();
variants.then((all) => {
  $('variant').append(...all.map(({ id, name }) => new Option(name, id)));
  summary();
});
open();
