/** Texts that may be shown: what looks like a secret by its shape is taken out, whoever wrote it. */

/** The user and password of a URL, API keys, signing secrets, extended private keys. */
const SECRET_TEXTS: readonly [RegExp, string][] = [
  [/\/\/[^/\s"]*@/g, '//***@'],
  [/bk_(live|test)_[0-9A-Za-z]+/g, 'bk_$1_***'],
  [/whsec_[0-9A-Za-z+/=]+/g, 'whsec_***'],
  [/[a-zA-Z]prv[1-9A-HJ-NP-Za-km-z]{50,}/g, 'xprv***'],
]

export const withoutSecrets = (text: string): string =>
  SECRET_TEXTS.reduce((clean, [shape, censored]) => clean.replace(shape, censored), text)
