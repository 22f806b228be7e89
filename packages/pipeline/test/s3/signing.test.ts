import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError } from 'tidemark'
import { checkConfig, s3, shownConfig, storageName } from '../../src/index.ts'
// Inside: what is sent, and what is understood of an answer.
import { readError, readListing } from '../../src/storage/s3/answers.ts'
import { placeOf, readS3Options } from '../../src/storage/s3/options.ts'
import { signed } from '../../src/storage/s3/sign.ts'

/** From the documentation of Amazon S3, "Signature Calculations for the Authorization Header". */
const credentials = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }
const signing = { credentials, region: 'us-east-1', at: new Date('2013-05-24T00:00:00Z') }

describe('a signature', () => {
  const sign = (url: string, headers: Record<string, string> = {}): string | undefined => {
    const request = { method: 'GET', url: new URL(url), headers, body: undefined }
    return /Signature=(.*)/.exec(signed(request, signing).authorization ?? '')?.[1]
  }

  it('is that of the documented examples', () => {
    const host = 'https://examplebucket.s3.amazonaws.com'
    const object = sign(`${host}/test.txt`, { range: 'bytes=0-9' })
    assert.equal(object, 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41')
    const lifecycle = sign(`${host}/?lifecycle`)
    assert.equal(lifecycle, 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543')
    const listing = sign(`${host}/?max-keys=2&prefix=J`)
    assert.equal(listing, '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7')
  })

  it('includes the token of temporary keys', () => {
    const request = { method: 'GET', url: new URL('https://s3.example.com/b/k'), headers: {}, body: undefined }
    const headers = signed(request, { ...signing, credentials: { ...credentials, sessionToken: 'token' } })
    assert.equal(headers['x-amz-security-token'], 'token')
    assert.match(
      headers.authorization ?? '',
      /SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,/,
    )
  })
})

describe('an address', () => {
  const baseOf = (options: Parameters<typeof s3>[0]): string =>
    placeOf(readS3Options(options), 'eu-central-1', {}).base.href

  it('has the bucket in its path or in its host', () => {
    assert.equal(baseOf({ bucket: 'ticks' }), 'https://ticks.s3.eu-central-1.amazonaws.com/')
    assert.equal(baseOf({ bucket: 'my.ticks' }), 'https://s3.eu-central-1.amazonaws.com/my.ticks/')
    const endpoint = 'https://objects.example.com:9000'
    assert.equal(baseOf({ bucket: 'ticks', endpoint }), `${endpoint}/ticks/`)
    const host = baseOf({ bucket: 'ticks', endpoint, addressing: 'virtual-host' })
    assert.equal(host, 'https://ticks.objects.example.com:9000/')
    assert.equal(baseOf({ bucket: 'ticks', addressing: 'path' }), 'https://s3.eu-central-1.amazonaws.com/ticks/')
  })

  it('refuses what is no bucket, endpoint or prefix', () => {
    const wrong = [
      { bucket: 'Ticks' },
      { bucket: 'a' },
      { bucket: 'ticks', endpoint: 'objects.example.com' },
      { bucket: 'ticks', endpoint: 'ftp://objects.example.com' },
      { bucket: 'ticks', endpoint: 'https://objects.example.com/path' },
      { bucket: 'ticks', prefix: '../other' },
      { bucket: 'ticks', prefix: '/a' },
      { bucket: 'ticks', prefix: 'a//b' },
      { bucket: 'ticks', prefix: 'a b' },
      { bucket: 'ticks', region: 'Frankfurt am Main' },
      { bucket: 'ticks', maxAttempts: 0 },
      { bucket: 'ticks', root: './data' },
    ]
    for (const options of wrong) assert.throws(() => readS3Options(options), ConfigError, JSON.stringify(options))
  })
})

describe('an answer', () => {
  it('that is a listing is read with foreign names in it', () => {
    const xml = `<?xml version="1.0"?><ListBucketResult xmlns="x"><EncodingType>url</EncodingType>
      <IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>
      <Contents><Key>a%20b+c%3C</Key><Size>7</Size></Contents><Contents><Key>%zz</Key><Size>0</Size></Contents>
      <CommonPrefixes><Prefix>runs/</Prefix></CommonPrefixes></ListBucketResult>`
    assert.deepEqual(readListing(xml), {
      objects: [
        { key: 'a b c<', bytes: 7 },
        { key: '%zz', bytes: 0 },
      ],
      folders: ['runs/'],
      next: 'a&b',
    })
    assert.equal(readListing('<html>a proxy of some kind</html>'), undefined)
  })

  it('that is an error is read without what was signed', () => {
    const xml =
      '<Error><Code>SignatureDoesNotMatch</Code><Message>No &lt;match&gt;</Message><StringToSign>s</StringToSign></Error>'
    assert.deepEqual(readError(xml), { code: 'SignatureDoesNotMatch', message: 'No <match>' })
    assert.deepEqual(readError('<html>'), { code: '', message: '' })
  })
})

describe('a configuration', () => {
  const configOf = (storage: object, thread = false) => ({
    resources: {
      topics: { url: 'sqlite::memory:' },
      storages: { ticks: storage },
      indexes: { runs: { address: 'sqlite:./x' } },
    },
    services: {
      metadata: {
        type: 'metadata-indexer',
        thread,
        bindings: {
          metadata: { kind: 'topic-read', name: 'metadata-topic', consumerGroup: 'metadata' },
          storage: { kind: 'storage-read', name: 'ticks' },
          index: { kind: 'index', name: 'runs' },
        },
      },
    },
  })

  it('has a bucket where it may have a folder, and shows no credentials', () => {
    const storage = s3({ bucket: 'ticks', prefix: 'a/b', credentials: () => credentials })
    const config = checkConfig(configOf(storage), '.')
    assert.equal(storageName(config.resources.storages.ticks ?? { root: '' }), 's3://ticks/a/b')
    const shown = JSON.stringify(shownConfig({ config, types: new Map() }))
    assert.match(shown, /"bucket":"ticks".*"credentials":"\(hidden\)"/)
  })

  it('refuses a function of credentials where a thread would need it', () => {
    const withFunction = s3({ bucket: 'ticks', credentials: () => credentials })
    assert.throws(() => checkConfig(configOf(withFunction, true), '.'), /services\.metadata\.thread.*function/)
    checkConfig(configOf(s3({ bucket: 'ticks' }), true), '.')
  })
})
