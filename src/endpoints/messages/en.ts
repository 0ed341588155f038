// The messages of the pages for users, in English. Every language has the same keys and parameters: a missing one does not compile.
// Names that others chose are Markup, made by isolated(); the parameters of titles and labels are plain text.
import { html, type Markup } from '../../lib/html.ts'
import { consent } from './consent.ts'
import { requests } from './requests.ts'

export const en = {
  /** The language tag (RFC 5646). */
  language: 'en',
  /** The name of the language in the language itself. */
  languageName: 'English',

  signedInAs: (user: Markup) => html`Signed in as ${user}`,
  useAnotherAccount: 'Use another account',
  returnTo: (place: string) => `Return to ${place}`,
  tryAgain: 'Try again',
  signInAgain: 'Sign in again',
  since: (date: Markup) => html`since ${date}`,
  lastUsed: (date: Markup) => html`last used ${date}`,

  /** The links of the operator, below each page. */
  links: { support: 'Support', terms: 'Terms of service', privacy: 'Privacy policy' },

  reveal: { show: 'Show password', hide: 'Hide password' },

  login: {
    title: 'Sign in',
    lead: (place: Markup) => html`to continue to ${place}`,
    asked: (application: Markup, place: Markup) => html`${application} asks you to sign in to ${place}.`,
    email: 'Email',
    password: 'Password',
    submit: 'Sign in',
    or: 'or',
    continueWith: (provider: Markup) => html`Continue with ${provider}`,
    invalid: 'This form has expired. Please sign in again.',
    locked_out: (wait: string) => `Too many failed attempts. Try again in ${wait}.`,
    failure: 'Email or password is wrong. If you have a second factor, enter its code too.',
    code: 'Code of your second factor',
    codeHint: 'The code of your authenticator app, or a recovery code. Leave it empty if you have no second factor.',
    keepPassword: 'You can leave the password empty to use the one that you have just entered.',
    passkey: 'Sign in with a passkey',
    passkeyFailed: 'The sign-in with a passkey did not work. Try again, or use your password.',
    forgot: 'Forgot your password?',
    forgotText: 'Ask an administrator for a link with which you can set a new password.',
  },

  start: {
    heading: 'You are signed in',
    continue: 'Continue',
    notSignedOut: 'Not signed out',
  },

  consent: consent.en,
  requests: requests.en,

  /** After a decision about a consent that the browser does not report to an application. */
  consentAlone: {
    allowed: 'Access is allowed',
    allowedText: 'You can close this page and go back to your application.',
    denied: 'Access is denied',
    deniedText: 'You denied the request. You can close this page.',
  },

  device: {
    title: 'Connect a device',
    lead: 'Enter the code that your device or program shows.',
    compare: 'Compare this code with the one on your device or in your program. Continue only if they are the same.',
    label: 'Code',
    phishing:
      'Only enter a code that you requested yourself just now. Never enter a code from an email, a message or a phone call: its sender would get access in your name.',
    submit: 'Continue',
    unknown:
      'This code is not known. It may have expired or been used. Check it, or request a new code on your device.',
    limited: (wait: string) => `Too many wrong codes. Try again in ${wait}.`,
    requestedFrom: 'The code was requested from',
    unnamed: 'a program without a name',
    isYours:
      'Allow this only if you started it yourself just now, on a device that you know. If you received the code from another person, choose Deny: that person would get access in your name.',
    allowed: 'The device is connected',
    allowedText: 'You can close this page and go back to your device.',
    denied: 'The device has no access',
    deniedText: 'You denied the request. You can close this page.',
  },

  signOut: {
    title: 'Sign out',
    question: 'Do you want to sign out?',
    submit: 'Sign out',
    stay: 'Stay signed in',
    done: 'You are signed out',
    close: 'You can close this page.',
  },

  accessRefused: {
    title: 'No access',
    heading: (user: Markup, resource: Markup) => html`${user} may not use ${resource}`,
    access: 'An administrator decides who may use it. Ask them for access, or use another account.',
    second_factor:
      'It requires a sign-in with a second factor. Sign in again with it; you can add one on the page of your account.',
    scope_groups:
      'An administrator decides who may have the permissions that the application asks for. Ask them, or use another account.',
  },

  approval: {
    heading: (client: Markup) => html`${client} is not approved yet`,
    text: 'An operator of this service must agree. The request was sent. Start again at the application afterwards.',
  },
  connect: {
    title: (provider: string) => `Connect ${provider}`,
    heading: (provider: Markup) => html`Connect ${provider}`,
    purpose: (resource: Markup) => html`${resource} can then be used in your name.`,
    submit: 'Connect',
    key: (provider: Markup) => html`Key of ${provider}`,
    badKey: 'This is not a valid key. Please copy it again.',
    whereToFind: 'Where to find your key',
    stored: (connections: Markup) =>
      html`The key is stored encrypted. You can disconnect at any time under ${connections}.`,
    yourConnections: 'your connections',
  },

  connections: {
    heading: 'Connections',
    lead: 'Accounts at other services that applications may use in your name.',
    none: 'You have no connections.',
    disconnect: 'Disconnect',
    disconnectFrom: (provider: string) => `Disconnect ${provider}`,
    lost: (provider: Markup) =>
      html`A response of ${provider} was lost, and your connection ended with it. The connection was not revoked. Connect again when an application asks you to.`,
    denied: 'You were not connected: the request was denied at the provider.',
    unavailable: 'You were not connected: the provider does not respond. Please try again later.',
    failed: 'You were not connected: the provider reported an error.',
  },

  passwordLink: {
    title: 'Set your password',
    lead: (length: number) =>
      `Choose a password with at least ${length} characters. It ends all sign-ins of your account.`,
    next: 'New password',
    again: 'New password, again',
    submit: 'Set password',
    problems: {
      tooShort: 'The password is too short.',
      tooLong: 'The password is too long.',
      differs: 'The two passwords are not the same.',
    },
    done: 'Your password is set',
    ended: 'All sign-ins of your account were ended. Sign in with the new password.',
    invalidTitle: 'This link is not valid',
    invalid: 'The link was already used, was replaced, or has expired. Please ask an administrator for a new link.',
  },

  factor: {
    heading: 'Second factor',
    lead: 'A second factor protects your account if others learn your password. Each sign-in then asks for it.',
    needed: 'Your account, or the application, requires a second factor. Add one to continue.',
    none: 'You have no second factor.',
    elsewhere: (provider: Markup) => html`You sign in at ${provider}. Second factors are managed there.`,
    kinds: { totp: 'Authenticator app', passkey: 'Passkey' },
    addApp: 'Add an authenticator app',
    addPasskey: 'Add a passkey',
    passkeyName: 'Name of the passkey, for example of this device',
    passkeyFailed: 'The passkey was not added. Try again, or use another device.',
    noScript: 'Passkeys need JavaScript and a browser that supports them.',
    remove: 'Remove',
    removeFactor: (factor: string) => `Remove ${factor}`,
    codesLeft: (count: number) => `${count} recovery codes left`,
    newCodes: 'New recovery codes',
    appLead:
      'Scan this code with an authenticator app, for example on your phone. Then enter the six digits that the app shows.',
    openApp: 'Open the app on this device',
    byHand: 'Or enter this key into the app by hand:',
    code: 'Code of the app',
    confirm: 'Confirm',
    wrongCode: 'This code is wrong. Check the time on your phone, and enter the code that the app shows now.',
    codesLead:
      'Keep these recovery codes in a safe place. Each of them signs you in once, together with your password, if you lose your second factor. They are not shown again.',
    tooMany: 'You have as many factors of this kind as are possible. Remove one first.',
    lost: 'If you lose your device: sign in with a recovery code, or ask an administrator to reset your second factors.',
    done: 'Your second factors were changed.',
  },

  account: {
    title: 'Your account',
    parts: 'On this page',
    applications: {
      heading: 'Applications',
      lead: 'These applications may use resources in your name.',
      none: 'No application has access.',
      accessTo: (resource: Markup) => html`Access to ${resource}`,
      accessToAccount: 'Access to your account',
      unusedSince: (date: string) => `not used since ${date}`,
      remove: 'Remove access',
      removeFrom: (application: string, resource: string) => `Remove access of ${application}: ${resource}`,
      done: 'The access was removed. The tokens of the application no longer work.',
    },
    signIns: {
      heading: 'Sign-ins',
      lead: 'You are signed in to these browsers. If you end a sign-in, applications keep their access.',
      browserOn: (browser: string, system: string) => `${browser} on ${system}`,
      unknownBrowser: 'Unknown browser',
      thisBrowser: 'this browser',
      signOut: 'Sign out',
      signOutOf: (browser: string, address: string) => `Sign out: ${browser}, ${address}`,
      endOthers: 'End all others',
      done: 'The sign-in was ended.',
    },
    password: {
      heading: 'Password',
      lead: 'A new password ends all other sign-ins. Applications keep their access.',
      elsewhere: (provider: Markup) => html`You sign in at ${provider}. You can change your password there.`,
      current: 'Current password',
      next: 'New password',
      again: 'New password, again',
      submit: 'Change password',
      wrong: 'The current password is wrong.',
      tooShort: (length: number) => `The new password must have at least ${length} characters.`,
      tooLong: 'The new password is too long.',
      differs: 'The two new passwords are not the same.',
      stale: 'Your password was changed at the same time. Please try again.',
      done: 'Your password was changed. All other sign-ins were ended.',
    },
    language: {
      heading: 'Language',
      label: 'Language of these pages in this browser',
      submit: 'Save',
    },
  },

  errors: {
    title: 'This request cannot be served',
    advice:
      'Go back to the application and try again. If this happens again, send this request ID to its support team:',
    /** By the reason of the error, then by the first word of the reason, then by its code. */
    texts: {
      invalid_request: 'The application sent a request that is not valid.',
      invalid_request_uri: 'This link was used before, or it is too old. Start again in the application.',
      invalid_client: 'The application is not known here, or it may not be used.',
      invalid_scope: 'The application asked for permissions that it cannot have.',
      invalid_target: 'The application asked for access to a resource that it cannot have.',
      access_denied: 'This request is not allowed.',
      not_found: 'This page does not exist.',
      slow_down: 'There were too many requests. Please wait before you try again.',
      server_error: 'An internal error occurred. Please try again later.',
      temporarily_unavailable: 'The service is not available at the moment. Please try again later.',
      unmet_authentication_requirements: 'The application requires a kind of sign-in that is not available here.',
      login_required: 'You are not signed in.',

      waiting_request_expired: 'This page was open for too long. Please go back to the application and start again.',
      not_signed_in: 'You are not signed in. Please sign in and try again.',
      no_cookies: 'Your browser does not send cookies. Please allow cookies for this website and try again.',
      bad_form: 'This form does not belong to your session. Please go back and load the page again.',
      cross_site: 'The request came from another website. Such requests are not allowed.',
      repeated_cookie:
        'Your browser sent two cookies with the same name. Please delete the cookies of this website and of its parent domain.',
      oidc: 'Your sign-in at the identity provider could not be completed.',
      oidc_state: 'This sign-in has expired, was already used, or was started in another browser.',
      oidc_other_provider: 'This sign-in was started at another identity provider.',
      oidc_state_used: 'This sign-in was already used.',
      oidc_too_many_failures: 'Too many failed sign-ins from your address. Please wait before you try again.',
      oidc_email_taken: 'Another account has your email address. Please ask an administrator.',
      oidc_email_domain: 'You may not sign in here with your email address.',
      oidc_user_disabled: 'Your account is disabled. Please ask an administrator.',
      oidc_upstream_access_denied: 'The identity provider did not sign you in.',
      state_of_another_user: 'Another user started this connection. Please start again.',
      unknown_state: 'This connection request has expired or was already used. Please start again.',
      state_used: 'This connection request was already used. Please start again.',
      connect_off: 'Connections to other services are not enabled here.',
    },
  },
}

/** The messages of one language. */
export type Messages = typeof en
