#!/bin/sh
# Installs the packages of this checkout into a folder, as npm would install them from a registry, with what a cluster
# needs: the command, the pipeline, the server, and the drivers. Run by the Containerfile, and without a container by
# `npm run deploy -- image`.
set -eu
target=${1:?the folder to install into}
root=$(cd "$(dirname "$0")/../.." && pwd)
packed=$(mktemp -d)
trap 'rm -rf "$packed"' EXIT

cd "$root"
npm run --silent build
npm pack --workspaces --silent --pack-destination "$packed" >/dev/null

mkdir -p "$target"
cp deploy/container/probe.js deploy/cluster.config.ts "$target"
cd "$target"
# The driver has the version that the tests of this checkout used.
pg=$(node -p "require('$root/node_modules/pg/package.json').version")
npm init --yes >/dev/null
npm install --omit=dev --no-audit --no-fund --loglevel=error "$packed"/*.tgz "pg@$pg"
