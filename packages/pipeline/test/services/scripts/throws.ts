throw new Error('not today')
