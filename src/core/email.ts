/** Of an address, as SMTP carries one (RFC 5321, 4.5.3.1.3, less its brackets). */
const EMAIL_LENGTH_MAX = 254

/** Whether a text may be an email address: only a mail that arrives tells more. */
export const isEmail = (text: string): boolean =>
  text.length <= EMAIL_LENGTH_MAX && /^[^\s@]+@[^\s@]+$/.test(text)
