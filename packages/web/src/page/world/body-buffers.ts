const FIRST_BYTES = 64 * 1024

/** The bytes of an answer, in a buffer that goes back when they have been decoded. */
export type Body = { readonly bytes: Uint8Array; release(): void }

/**
 * Answers are read into buffers that are used again: a tick has megabytes, and the browser collects garbage of that kind late.
 */
export class BodyBuffers {
  readonly #free: Uint8Array<ArrayBuffer>[] = []

  async read(answer: Response): Promise<Body> {
    let buffer = this.#free.pop() ?? new Uint8Array(FIRST_BYTES)
    let end = 0
    const reader = answer.body?.getReader()
    for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
      if (end + part.value.length > buffer.length) {
        const larger = new Uint8Array(Math.max(buffer.length * 2, end + part.value.length))
        larger.set(buffer.subarray(0, end))
        buffer = larger
      }
      buffer.set(part.value, end)
      end += part.value.length
    }
    return { bytes: buffer.subarray(0, end), release: () => void this.#free.push(buffer) }
  }
}
