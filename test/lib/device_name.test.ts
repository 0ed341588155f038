import { expect, test } from 'vitest'
import { deviceName, programName } from '../../src/lib/device_name.ts'

const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)'
const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'
for (const [userAgent, expected] of [
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox, Windows'],
  [`${MAC} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`, 'Chrome, Mac'],
  [`${MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15`, 'Safari, Mac'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    'Safari, iPhone',
  ],
  [
    'Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/125.0 Mobile/15E148 Safari/604.1',
    'Chrome, iPad',
  ],
  [`Mozilla/5.0 (Linux; Android 14; Pixel 8) ${WEBKIT} Chrome/131.0.0.0 Mobile Safari/537.36`, 'Chrome, Android'],
  [
    `Mozilla/5.0 (Linux; Android 14; SM-S918B) ${WEBKIT} SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36`,
    'Samsung Internet, Android',
  ],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0`, 'Edge, Windows'],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`, 'Chrome, ChromeOS'],
  [`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} HeadlessChrome/131.0.0.0 Safari/537.36`, 'Chrome, Linux'],
  ['curl/8.9.1', ', '],
  ['', ', '],
] as const)
  test(`a User-Agent header names the browser and the system: ${expected}`, () => {
    const { browser = '', system = '' } = deviceName(userAgent)
    expect(`${browser}, ${system}`).toBe(expected)
  })

for (const [userAgent, expected] of [
  ['inbox-terminal/2.1 (linux; x64) node/20.20.2', 'inbox-terminal/2.1'],
  ['curl/8.9.1', 'curl/8.9.1'],
  ['node', 'node'],
  [`${MAC} ${WEBKIT} Chrome/131.0.0.0 Safari/537.36`, undefined],
  ['<b>bold</b>/1', undefined],
  [`${'x'.repeat(41)}/1`, undefined],
  [`a/${'1'.repeat(21)}`, undefined],
  ['Press_Allow! now', undefined],
  ['', undefined],
] as const)
  test(`the program of ${JSON.stringify(userAgent.slice(0, 40))} is ${expected}`, () => {
    expect(programName(userAgent)).toBe(expected)
  })
