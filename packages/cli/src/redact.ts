/** Without the user and password of any address in it: what is shown may end in a log. */
export const redact = (text: string): string =>
  text
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s'"]*@/gi, '$1…@')
    .replaceAll(/([?&](?:ssl)?password=)[^&\s'"]*/gi, '$1…')
