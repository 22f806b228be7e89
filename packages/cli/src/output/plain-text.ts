/** Control characters and direction marks would act as commands to the terminal. */
export const plainText = (text: string): string =>
  text.replaceAll(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, each => {
    return `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
