// The messages of the pages for users, in German (formal address).
import { html } from '../../lib/html.ts'
import { consent } from './consent.ts'
import type { Messages } from './en.ts'
import { requests } from './requests.ts'

export const de: Messages = {
  language: 'de',
  languageName: 'Deutsch',

  signedInAs: (user) => html`Angemeldet als ${user}`,
  useAnotherAccount: 'Anderes Konto verwenden',
  returnTo: (place) => `Zurück zu ${place}`,
  tryAgain: 'Erneut versuchen',
  signInAgain: 'Erneut anmelden',
  since: (date) => html`seit dem ${date}`,
  lastUsed: (date) => html`zuletzt genutzt am ${date}`,

  links: { support: 'Hilfe und Kontakt', terms: 'Nutzungsbedingungen', privacy: 'Datenschutzerklärung' },

  reveal: { show: 'Passwort anzeigen', hide: 'Passwort verbergen' },

  login: {
    title: 'Anmelden',
    lead: (place) => html`Melden Sie sich an, um zu ${place} zu gelangen.`,
    asked: (application, place) => html`${application} bittet Sie, sich bei ${place} anzumelden.`,
    email: 'E-Mail-Adresse',
    password: 'Passwort',
    submit: 'Anmelden',
    or: 'oder',
    continueWith: (provider) => html`Weiter mit ${provider}`,
    invalid: 'Dieses Formular ist abgelaufen. Bitte melden Sie sich erneut an.',
    locked_out: (wait) => `Zu viele fehlgeschlagene Versuche. Versuchen Sie es in ${wait} erneut.`,
    failure:
      'E-Mail-Adresse oder Passwort ist falsch. Wenn Sie einen zweiten Faktor haben, geben Sie auch dessen Code ein.',
    code: 'Code Ihres zweiten Faktors',
    codeHint:
      'Der Code Ihrer Authenticator-App oder ein Wiederherstellungscode. Lassen Sie das Feld leer, wenn Sie keinen zweiten Faktor haben.',
    keepPassword: 'Sie können das Passwort leer lassen, um das eben eingegebene zu verwenden.',
    passkey: 'Mit einem Passkey anmelden',
    passkeyFailed:
      'Die Anmeldung mit einem Passkey hat nicht funktioniert. Versuchen Sie es noch einmal, oder verwenden Sie Ihr Passwort.',
    forgot: 'Passwort vergessen?',
    forgotText: 'Bitten Sie einen Administrator um einen Link, mit dem Sie ein neues Passwort festlegen können.',
  },

  start: {
    heading: 'Sie sind angemeldet',
    continue: 'Weiter',
    notSignedOut: 'Nicht abgemeldet',
  },

  consent: consent.de,
  requests: requests.de,

  /** After a decision about a consent that the browser does not report to an application. */
  consentAlone: {
    allowed: 'Der Zugriff ist erlaubt',
    allowedText: 'Sie können diese Seite schließen und zu Ihrer Anwendung zurückkehren.',
    denied: 'Der Zugriff ist abgelehnt',
    deniedText: 'Sie haben die Anfrage abgelehnt. Sie können diese Seite schließen.',
  },

  device: {
    title: 'Gerät verbinden',
    lead: 'Geben Sie den Code ein, den Ihr Gerät oder Ihr Programm anzeigt.',
    compare:
      'Vergleichen Sie diesen Code mit dem auf Ihrem Gerät oder in Ihrem Programm. Fahren Sie nur fort, wenn beide gleich sind.',
    label: 'Gerätecode',
    phishing:
      'Geben Sie nur einen Code ein, den Sie gerade selbst angefordert haben. Geben Sie nie einen Code aus einer E-Mail, einer Nachricht oder einem Anruf ein: Der Absender bekäme Zugriff in Ihrem Namen.',
    submit: 'Weiter',
    unknown:
      'Dieser Code ist nicht bekannt. Vielleicht ist er abgelaufen oder wurde schon verwendet. Prüfen Sie ihn, oder fordern Sie auf Ihrem Gerät einen neuen an.',
    limited: (wait) => `Zu viele falsche Codes. Versuchen Sie es in ${wait} erneut.`,
    requestedFrom: 'Der Code wurde angefordert von',
    unnamed: 'einem Programm ohne Namen',
    isYours:
      'Lassen Sie dies nur zu, wenn Sie es gerade selbst auf einem Gerät gestartet haben, das Sie kennen. Wenn Sie den Code von einer anderen Person erhalten haben, wählen Sie „Ablehnen“: Diese Person bekäme Zugriff in Ihrem Namen.',
    allowed: 'Das Gerät ist verbunden',
    allowedText: 'Sie können diese Seite schließen und zu Ihrem Gerät zurückkehren.',
    denied: 'Das Gerät hat keinen Zugriff',
    deniedText: 'Sie haben die Anfrage abgelehnt. Sie können diese Seite schließen.',
  },

  signOut: {
    title: 'Abmelden',
    question: 'Möchten Sie sich abmelden?',
    submit: 'Abmelden',
    stay: 'Angemeldet bleiben',
    done: 'Sie sind abgemeldet',
    close: 'Sie können diese Seite schließen.',
  },

  accessRefused: {
    title: 'Kein Zugriff',
    heading: (user, resource) => html`${user} darf ${resource} nicht verwenden`,
    access: 'Die Administration vergibt den Zugriff. Bitten Sie dort darum, oder verwenden Sie ein anderes Konto.',
    second_factor:
      'Dafür ist eine Anmeldung mit einem zweiten Faktor nötig. Melden Sie sich damit noch einmal an; auf der Seite Ihres Kontos können Sie einen hinzufügen.',
    scope_groups:
      'Die Administration entscheidet, wer die Berechtigungen erhält, die die Anwendung anfordert. Fragen Sie dort nach, oder verwenden Sie ein anderes Konto.',
  },

  approval: {
    heading: (client) => html`${client} ist noch nicht zugelassen`,
    text: 'Die Administration muss zustimmen. Die Anfrage wurde gesendet. Beginnen Sie danach in der Anwendung neu.',
  },
  connect: {
    title: (provider) => `${provider} verbinden`,
    heading: (provider) => html`${provider} verbinden`,
    purpose: (resource) => html`${resource} kann danach in Ihrem Namen genutzt werden.`,
    submit: 'Verbinden',
    key: (provider) => html`Schlüssel von ${provider}`,
    badKey: 'Dieser Schlüssel ist nicht gültig. Bitte kopieren Sie ihn erneut.',
    whereToFind: 'Wo Sie Ihren Schlüssel finden',
    stored: (connections) =>
      html`Der Schlüssel wird verschlüsselt gespeichert. Sie können die Verbindung jederzeit unter ${connections} trennen.`,
    yourConnections: 'Ihre Verbindungen',
  },

  connections: {
    heading: 'Verbindungen',
    lead: 'Konten bei anderen Diensten, die Anwendungen in Ihrem Namen nutzen dürfen.',
    none: 'Sie haben keine Verbindungen.',
    disconnect: 'Trennen',
    disconnectFrom: (provider) => `${provider} trennen`,
    lost: (provider) =>
      html`Eine Antwort von ${provider} ging verloren, und damit wurde Ihre Verbindung beendet. Die Verbindung wurde nicht widerrufen. Stellen Sie sie erneut her, wenn eine Anwendung Sie dazu auffordert.`,
    denied: 'Die Verbindung wurde nicht hergestellt: Die Anfrage wurde beim Anbieter abgelehnt.',
    unavailable: 'Die Verbindung wurde nicht hergestellt: Der Anbieter antwortet nicht. Versuchen Sie es später.',
    failed: 'Die Verbindung wurde nicht hergestellt: Der Anbieter hat einen Fehler gemeldet.',
  },

  passwordLink: {
    title: 'Passwort festlegen',
    lead: (length) =>
      `Wählen Sie ein Passwort mit mindestens ${length} Zeichen. Danach sind alle Anmeldungen Ihres Kontos beendet.`,
    next: 'Neues Passwort',
    again: 'Neues Passwort wiederholen',
    submit: 'Passwort festlegen',
    problems: {
      tooShort: 'Das Passwort ist zu kurz.',
      tooLong: 'Das Passwort ist zu lang.',
      differs: 'Die beiden Passwörter sind nicht gleich.',
    },
    done: 'Ihr Passwort wurde festgelegt',
    ended: 'Alle Anmeldungen Ihres Kontos wurden beendet. Melden Sie sich mit dem neuen Passwort an.',
    invalidTitle: 'Dieser Link ist nicht gültig',
    invalid:
      'Der Link wurde bereits verwendet, wurde ersetzt oder ist abgelaufen. Bitten Sie die Administration um einen neuen Link.',
  },

  factor: {
    heading: 'Zweiter Faktor',
    lead: 'Ein zweiter Faktor schützt Ihr Konto, wenn andere Ihr Passwort erfahren. Danach fragt jede Anmeldung nach ihm.',
    needed: 'Ihr Konto oder die Anwendung verlangt einen zweiten Faktor. Fügen Sie einen hinzu, um fortzufahren.',
    none: 'Sie haben keinen zweiten Faktor.',
    elsewhere: (provider) => html`Sie melden sich bei ${provider} an. Zweite Faktoren werden dort verwaltet.`,
    kinds: { totp: 'Authenticator-App', passkey: 'Passkey' },
    addApp: 'Authenticator-App hinzufügen',
    addPasskey: 'Passkey hinzufügen',
    passkeyName: 'Name des Passkeys, zum Beispiel dieses Geräts',
    passkeyFailed: 'Der Passkey wurde nicht hinzugefügt. Versuchen Sie es noch einmal, auch mit einem anderen Gerät.',
    noScript: 'Passkeys brauchen JavaScript und einen Browser, der sie unterstützt.',
    remove: 'Entfernen',
    removeFactor: (factor) => `Entfernen: ${factor}`,
    codesLeft: (count) => `Noch ${count} Wiederherstellungscodes`,
    newCodes: 'Neue Wiederherstellungscodes',
    appLead:
      'Scannen Sie diesen Code mit einer Authenticator-App, zum Beispiel auf Ihrem Telefon. Geben Sie dann die sechs Ziffern ein, die die App anzeigt.',
    openApp: 'Die App auf diesem Gerät öffnen',
    byHand: 'Oder geben Sie diesen Schlüssel von Hand in die App ein:',
    code: 'Code der App',
    confirm: 'Bestätigen',
    wrongCode:
      'Dieser Code ist falsch. Prüfen Sie die Uhrzeit Ihres Telefons, und geben Sie den Code ein, den die App jetzt anzeigt.',
    codesLead:
      'Bewahren Sie diese Wiederherstellungscodes sicher auf. Mit jedem können Sie sich einmal zusammen mit Ihrem Passwort anmelden, wenn Sie Ihren zweiten Faktor verlieren. Sie werden nicht noch einmal angezeigt.',
    tooMany: 'Sie haben so viele Faktoren dieser Art, wie möglich sind. Entfernen Sie zuerst einen.',
    lost: 'Wenn Sie Ihr Gerät verlieren: Melden Sie sich mit einem Wiederherstellungscode an, oder bitten Sie einen Administrator, Ihre zweiten Faktoren zurückzusetzen.',
    done: 'Ihre zweiten Faktoren wurden geändert.',
  },

  account: {
    title: 'Ihr Konto',
    parts: 'Auf dieser Seite',
    applications: {
      heading: 'Anwendungen',
      lead: 'Diese Anwendungen dürfen Ressourcen in Ihrem Namen nutzen.',
      none: 'Keine Anwendung hat Zugriff.',
      accessTo: (resource) => html`Zugriff auf ${resource}`,
      accessToAccount: 'Zugriff auf Ihr Konto',
      unusedSince: (date) => `nicht genutzt seit dem ${date}`,
      remove: 'Zugriff entfernen',
      removeFrom: (application, resource) => `Zugriff entfernen: ${application}, ${resource}`,
      done: 'Der Zugriff wurde entfernt. Die Token der Anwendung sind nicht mehr gültig.',
    },
    signIns: {
      heading: 'Anmeldungen',
      lead: 'In diesen Browsern sind Sie angemeldet. Wenn Sie eine Anmeldung beenden, behalten Anwendungen ihren Zugriff.',
      browserOn: (browser, system) => `${browser} auf ${system}`,
      unknownBrowser: 'Unbekannter Browser',
      thisBrowser: 'dieser Browser',
      signOut: 'Abmelden',
      signOutOf: (browser, address) => `Abmelden: ${browser}, ${address}`,
      endOthers: 'Alle anderen beenden',
      done: 'Die Anmeldung wurde beendet.',
    },
    password: {
      heading: 'Passwort',
      lead: 'Ein neues Passwort beendet alle anderen Anmeldungen. Anwendungen behalten ihren Zugriff.',
      elsewhere: (provider) => html`Sie melden sich bei ${provider} an. Dort können Sie Ihr Passwort ändern.`,
      current: 'Aktuelles Passwort',
      next: 'Neues Passwort',
      again: 'Neues Passwort wiederholen',
      submit: 'Passwort ändern',
      wrong: 'Das aktuelle Passwort ist falsch.',
      tooShort: (length) => `Das neue Passwort muss mindestens ${length} Zeichen haben.`,
      tooLong: 'Das neue Passwort ist zu lang.',
      differs: 'Die beiden neuen Passwörter stimmen nicht überein.',
      stale: 'Ihr Passwort wurde gleichzeitig geändert. Bitte versuchen Sie es erneut.',
      done: 'Ihr Passwort wurde geändert. Alle anderen Anmeldungen wurden beendet.',
    },
    language: {
      heading: 'Sprache',
      label: 'Sprache dieser Seiten in diesem Browser',
      submit: 'Speichern',
    },
  },

  errors: {
    title: 'Diese Anfrage kann nicht bearbeitet werden',
    advice:
      'Kehren Sie zur Anwendung zurück und versuchen Sie es erneut. Wenn der Fehler wieder auftritt, senden Sie diese Anfrage-ID an den Support der Anwendung:',
    texts: {
      invalid_request: 'Die Anwendung hat eine ungültige Anfrage gesendet.',
      invalid_request_uri:
        'Dieser Link wurde bereits verwendet oder ist zu alt. Beginnen Sie in der Anwendung noch einmal.',
      invalid_client: 'Die Anwendung ist hier nicht bekannt oder darf nicht verwendet werden.',
      invalid_scope: 'Die Anwendung hat Berechtigungen angefordert, die sie nicht erhalten kann.',
      invalid_target: 'Die Anwendung hat Zugriff auf eine Ressource angefordert, den sie nicht erhalten kann.',
      access_denied: 'Diese Anfrage ist nicht erlaubt.',
      not_found: 'Diese Seite existiert nicht.',
      slow_down: 'Es gab zu viele Anfragen. Bitte warten Sie, bevor Sie es erneut versuchen.',
      server_error: 'Ein interner Fehler ist aufgetreten. Bitte versuchen Sie es später erneut.',
      temporarily_unavailable: 'Der Dienst ist derzeit nicht verfügbar. Bitte versuchen Sie es später erneut.',
      unmet_authentication_requirements: 'Die Anwendung verlangt eine Art der Anmeldung, die hier nicht verfügbar ist.',
      login_required: 'Sie sind nicht angemeldet.',

      waiting_request_expired:
        'Diese Seite war zu lange geöffnet. Bitte kehren Sie zur Anwendung zurück und beginnen Sie von vorn.',
      not_signed_in: 'Sie sind nicht angemeldet. Bitte melden Sie sich an und versuchen Sie es erneut.',
      no_cookies:
        'Ihr Browser sendet keine Cookies. Bitte erlauben Sie Cookies für diese Website und versuchen Sie es noch einmal.',
      bad_form: 'Dieses Formular gehört nicht zu Ihrer Sitzung. Bitte gehen Sie zurück und laden Sie die Seite neu.',
      cross_site: 'Die Anfrage kam von einer anderen Website. Solche Anfragen sind nicht erlaubt.',
      repeated_cookie:
        'Ihr Browser hat zwei Cookies mit demselben Namen gesendet. Bitte löschen Sie die Cookies dieser Website und ihrer übergeordneten Domain.',
      oidc: 'Ihre Anmeldung beim Identitätsanbieter konnte nicht abgeschlossen werden.',
      oidc_state:
        'Diese Anmeldung ist abgelaufen, wurde bereits verwendet oder wurde in einem anderen Browser begonnen.',
      oidc_other_provider: 'Diese Anmeldung wurde bei einem anderen Identitätsanbieter begonnen.',
      oidc_state_used: 'Diese Anmeldung wurde bereits verwendet.',
      oidc_too_many_failures:
        'Zu viele fehlgeschlagene Anmeldungen von Ihrer Adresse. Bitte warten Sie, bevor Sie es erneut versuchen.',
      oidc_email_taken:
        'Ihre E-Mail-Adresse gehört bereits zu einem anderen Konto. Bitte wenden Sie sich an die Administration.',
      oidc_email_domain: 'Mit Ihrer E-Mail-Adresse dürfen Sie sich hier nicht anmelden.',
      oidc_user_disabled: 'Ihr Konto ist deaktiviert. Bitte wenden Sie sich an die Administration.',
      oidc_upstream_access_denied: 'Der Identitätsanbieter hat Sie nicht angemeldet.',
      state_of_another_user: 'Diese Verbindung wurde von einer anderen Person begonnen. Bitte beginnen Sie erneut.',
      unknown_state: 'Diese Verbindungsanfrage ist abgelaufen oder wurde bereits verwendet. Bitte beginnen Sie erneut.',
      state_used: 'Diese Verbindungsanfrage wurde bereits verwendet. Bitte beginnen Sie erneut.',
      connect_off: 'Verbindungen zu anderen Diensten sind hier nicht aktiviert.',
    },
  },
}
