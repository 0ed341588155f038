// The keys of the pages for users: what they accept, and what they say about a value that they refuse.
import { describe, expect, test } from 'vitest'
import { load, problemsOf } from './loading.ts'

const problemOf = (ui: Record<string, unknown>) => problemsOf({ ui }).map(({ key, message }) => `${key} ${message}`)

const COLORS: Record<string, string> = { accent_color: '#00695c', accent_color_dark: '#8db2ff' }

describe('the accent color', () => {
  test.each([['#2456d3'], ['#B00020'], ['#00695c'], ['#000000']])(
    '%s can be read in the light scheme',
    (accent_color) => {
      expect(problemOf({ accent_color })).toEqual([])
    },
  )

  test.each([
    ['#ffcc00', '#f3f5f8', '1.38'],
    ['#ffffff', '#ffffff', '1.00'],
    ['#1976ff', '#f3f5f8', '3.79'],
  ])(
    '%s is refused with the background that it cannot be read on, and its contrast',
    (accent_color, background, ratio) => {
      expect(problemOf({ accent_color })).toEqual([
        `ui.accent_color must have a contrast of at least 4.5:1 with ${background}, so that links and buttons can be read; ${accent_color} has ${ratio}:1`,
      ])
    },
  )

  test('the color of the dark scheme is compared with the dark backgrounds and the text on its buttons', () => {
    expect(problemOf({ accent_color_dark: '#8db2ff' })).toEqual([])
    expect(problemOf({ accent_color_dark: '' })).toEqual([])
    expect(problemOf({ accent_color_dark: '#2456d3' })).toEqual([
      expect.stringMatching(
        /^ui\.accent_color_dark must have a contrast of at least 4\.5:1 with #1e222b, .*; #2456d3 has 2\.\d\d:1$/,
      ),
    ])
  })

  test.each([['red'], ['#fff'], [''], ['#2456d3}*{display:none'], [2456]])('%j is no color', (accent_color) => {
    expect(problemOf({ accent_color })).toEqual([
      expect.stringMatching(/^ui\.accent_color must be a color such as #2456d3/),
    ])
  })

  test.each(['accent_color', 'accent_color_dark'])(
    '%s without quotes is a comment, and the problem asks for quotes',
    (name) => {
      for (const line of [`${name}: #0a5`, `${name}:`, `${name}: null`])
        expect(problemsOf(`ui:\n  product_name: Acme\n  ${line}\n`)).toEqual([
          { key: `ui.${name}`, message: expect.stringMatching(/^has no value: write the color in quotes/) },
        ])
      expect(problemsOf('ui:\n  product_name:\n')).toEqual([])
      expect(
        load(`ui:\n  ${name}: #0a5\n`, { [`SERVICE_UI_${name.toUpperCase()}`]: COLORS[name] ?? '' }).warnings,
      ).toEqual([])
    },
  )

  test('the default can be read', () => {
    expect(problemOf({})).toEqual([])
  })
})

describe('links', () => {
  test.each([
    ['https://help.example.com/start?lang=de#login'],
    ['mailto:help@example.com'],
    ['HTTPS://help.example.com'],
    ['MAILTO:help@example.com?subject=Sign-in'],
    [''],
  ])('%j is accepted', (url) => {
    expect(problemOf({ support_url: url, terms_url: url, privacy_url: url })).toEqual([])
  })

  test.each([
    ['http://help.example.com'],
    ['javascript:alert(1)'],
    ['JavaScript:alert(1)//https://help.example.com'],
    ['data:text/html,<script>alert(1)</script>'],
    ['https://user:secret@help.example.com'],
    ['https:help.example.com'],
    ['//help.example.com'],
    ['/help'],
    ['tel:+4930123'],
    ['mailto:'],
    ['mailto:help example.com'],
    ['https://help.example.com/a b'],
  ])('%j is refused', (url) => {
    for (const key of ['support_url', 'terms_url', 'privacy_url'])
      expect(problemOf({ [key]: url })).toEqual([`ui.${key} must be a well-formed https or mailto URL`])
  })
})

test.each([
  [''],
  ['Call 4711, or visit the help desk.'],
  ['https://id.example.com/reset'],
  ['mailto:help@example.com'],
])('%j is accepted as help with a password', (help) => {
  expect(problemOf({ password_help: help })).toEqual([])
})

test.each([['http://id.example.com/reset'], ['https:reset'], ['mailto:']])(
  '%j is refused as help with a password',
  (help) => {
    expect(problemOf({ password_help: help })).toEqual([
      'ui.password_help must be a text, or a well-formed https or mailto URL',
    ])
  },
)

test('the help has at most 500 characters', () => {
  expect(problemOf({ password_help: 'x'.repeat(500) })).toEqual([])
  expect(problemOf({ password_help: 'x'.repeat(501) })).toHaveLength(1)
})

test('the name has at most 60 characters, on one line', () => {
  expect(problemOf({ product_name: 'x'.repeat(60) })).toEqual([])
  expect(problemOf({ product_name: 'x'.repeat(61) })).toHaveLength(1)
  expect(problemOf({ product_name: 'a\nb' })).toEqual(['ui.product_name must be one line of plain text'])
})

test('variables set the keys', () => {
  const { config } = load(undefined, { SERVICE_UI_PRODUCT_NAME: 'Acme', SERVICE_UI_ACCENT_COLOR: '#00695c' })
  expect([config.ui.product_name, config.ui.accent_color]).toEqual(['Acme', '#00695c'])
})
