/** Soft tones, made when they are wanted. */

/** Notes of each sound: frequency in hertz, and seconds after its start. @type {Record<string, [number, number][]>} */
const SOUNDS = {
  select: [[523, 0]],
  remove: [[587, 0], [880, 0.08]],
  deal: [[392, 0], [440, 0.07], [494, 0.14]],
  refuse: [[196, 0]],
  won: [[523, 0], [659, 0.14], [784, 0.28], [1047, 0.42]],
};
/** @type {AudioContext | undefined} */
let context;

/** @param {string} name */
export function ring(name) {
  context ??= new AudioContext();
  for (const [frequency, after] of SOUNDS[name]) {
    const start = context.currentTime + after;
    const tone = new OscillatorNode(context, { frequency, type: 'sine' });
    const loudness = new GainNode(context, { gain: 0 });
    loudness.gain.linearRampToValueAtTime(0.06, start + 0.01);
    loudness.gain.setTargetAtTime(0, start + 0.03, 0.08);
    tone.connect(loudness).connect(context.destination);
    tone.start(start);
    tone.stop(start + 0.6);
  }
}
