/** Says its argument, answers one message, and ends with code 3. */
console.log(`${process.argv[2]} from the script`)
process.once('message', ({ question }: { question: number }) => {
  process.send?.({ answer: question * 7 })
  console.error('bye')
  process.exitCode = 3
})
