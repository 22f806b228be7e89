import type { NextConfig } from 'next'

export default {
  // Tidemark stays a package that Node loads, as Next advises for database drivers: its other engines need not be installed.
  serverExternalPackages: ['tidemark'],
} satisfies NextConfig
