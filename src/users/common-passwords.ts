/**
 * Passwords of twelve characters and more that lists of leaked ones begin with are nearly all made alike: a common word
 * with digits or another after it, a word twice, a run of the keyboard, one sign again and again. So what they are made
 * of is taken away, and too little left means that they are guessed.
 */

const WORDS =
  `password passwort passw0rd motdepasse contrasena contraseña senha wachtwoord qwerty azerty qwertz admin
administrator welcome willkommen letmein iloveyou monkey dragon master football baseball basketball superman batman
princess sunshine shadow michael jennifer jordan hunter killer trustno charlie secret freedom whatever starwars pokemon
computer internet changeme default login access google facebook samsung bitcoin litecoin ethereum crypto money wallet
summer winter spring autumn january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday hello world love test user root guest temp pass
correcthorsebatterystaple`
    .split(/\s+/)
    .sort((a, b) => b.length - a.length)

const RUNS = [
  '01234567890123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertzuiop',
  'azertyuiop',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm',
].flatMap((run) => [run, [...run].reverse().join('')])
const RUN_MIN = 4
/** Signs that must be left when all that is guessed first is gone. */
const LEFT_MIN = 4

/** @param words - What is known of the person and the place: his name, the parts of his email. */
export function isCommonPassword(password: string, words: readonly string[]): boolean {
  let left = undress(password)
  for (const word of [...words.map(undress).filter((each) => each.length >= RUN_MIN), 'beck', ...WORDS])
    left = left.replaceAll(word, ' ')
  left = withoutRuns(left)
  // Digits at either end are counted up from nothing by every guesser.
  left = left.replace(/^\P{L}+|(?<!\P{L})\P{L}+$/gu, '').replace(/\s/g, '')
  return new Set(left).size < LEFT_MIN
}

const LEET: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
}

/** Letters for the signs that stand for them, where a letter stands beside: `p4ssw0rd`, but not `1234`. */
const undress = (text: string): string =>
  text
    .toLowerCase()
    .replace(
      /(?<=\p{L})[@431!0$5](?=\p{L}|[@431!0$5]\p{L})|(?<=\p{L}[@431!0$5])[@431!0$5](?=\p{L})/gu,
      (sign) => LEET[sign] ?? sign,
    )

function withoutRuns(text: string): string {
  for (const run of RUNS) {
    for (let length = run.length; length >= RUN_MIN; length--) {
      for (let start = 0; start + length <= run.length; start++) {
        text = text.replaceAll(run.slice(start, start + length), ' ')
      }
    }
  }
  // A piece again and again: `abcabcabc`.
  return text.replace(/(.{1,6}?)\1{2,}/gu, '$1')
}
