/** JSON in one line. JSON has no bytes and big integers: they become base64 and text. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === 'bigint') return each.toString()
    if (each instanceof Uint8Array) return { base64: Buffer.from(each).toString('base64') }
    if (ArrayBuffer.isView(each) && !(each instanceof DataView)) return Array.from(each as unknown as ArrayLike<number>)
    return each
  })
