// The browser and the operating system that a User-Agent header names, for people to recognise their devices. It proves nothing: programs
// send what they want.

/** In this order: many browsers also name the browsers that they are compatible with. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\/|\bOpera\b/, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/Chrom(e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'Mac'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
]

export interface DeviceName {
  browser?: string
  system?: string
}

/** What a User-Agent header names; each is undefined when it is not known. */
export const deviceName = (userAgent = ''): DeviceName => ({
  browser: first(BROWSERS, userAgent),
  system: first(SYSTEMS, userAgent),
})

/** The program that a User-Agent header of no browser names first: a product and its version (RFC 9110 §10.1.5), and nothing of the rest. */
export const programName = (userAgent = ''): string | undefined =>
  /^Mozilla\/|^Opera\//.test(userAgent) ? undefined : /^[\w.+-]{1,40}(\/[\w.+-]{1,20})?(?=\s|$)/.exec(userAgent)?.[0]

const first = (names: readonly (readonly [RegExp, string])[], text: string): string | undefined =>
  names.find(([pattern]) => pattern.test(text))?.[1]
