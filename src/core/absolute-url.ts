/** Reads URLs that others will read too: what is checked here must be what they come to. */

/** URL parsers silently drop these. */
const SPACE_OR_CONTROL = /[\s\p{Cc}]/u
/** Alone it is an absolute URL; on a page of the same scheme browsers take what follows for a path of that page. */
const WITHOUT_SLASHES = /^https?:(?!\/\/)/i

/** @returns Null for what is no absolute URL, or becomes another one on another page. */
export const parseAbsoluteUrl = (text: string, lengthMax: number): URL | null =>
  text.length > lengthMax || SPACE_OR_CONTROL.test(text) || WITHOUT_SLASHES.test(text)
    ? null
    : URL.parse(text)
