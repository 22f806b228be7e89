/** Removes the user and password from any address in the text: what is shown may end up in a log. */
export const redact = (text: string): string =>
  text
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s'"]*@/gi, '$1…@')
    .replaceAll(/([?&](?:ssl)?password=)[^&\s'"]*/gi, '$1…')
