// The texts of the consent page, in each language.
import { html, type Markup } from '../../lib/html.ts'

const en = {
  title: (application: string) => `Allow ${application}?`,
  heading: (application: Markup) => html`${application} asks for access`,
  accessTo: 'Access to',
  yourAccount: 'your account',
  afterwards: 'Afterwards you will be sent to',
  onDevice: 'This is a program on your own device. Allow it only if you started it yourself just now.',
  ownName: 'This application chose its own name. Check the address above.',
  ownDocument: (host: Markup) =>
    html`This application chose its own name and is described by ${host}. Check the address above.`,
  scopes: 'It wants to',
  details: 'It asks for exactly this',
  openId: {
    openid: 'Know which account you use here',
    profile: 'See your name and profile',
    email: 'See your email address',
    offline_access: 'Keep its access while you are away',
    groups: 'See the groups that you are in',
  },
  withoutScopes: 'This resource has no separate permissions. The application can use all of it.',
  deny: 'Deny',
  allow: 'Allow',
  refused: 'This request cannot continue',
  expired: 'This request has expired or was already decided.',
  noDecision: 'The decision is missing.',
  nothingAllowed: 'Nothing was allowed. Choose at least one item, or deny.',
  tooMuchAllowed: 'More was allowed than asked for.',
}

/** By language. */
export const consent: Readonly<Record<'en' | 'de' | 'es', typeof en>> = {
  en,
  de: {
    title: (application) => `${application} zulassen?`,
    heading: (application) => html`${application} bittet um Zugriff`,
    accessTo: 'Zugriff auf',
    yourAccount: 'Ihr Konto',
    afterwards: 'Danach werden Sie weitergeleitet zu',
    onDevice:
      'Dies ist ein Programm auf Ihrem eigenen Gerät. Lassen Sie es nur zu, wenn Sie es gerade selbst gestartet haben.',
    ownName: 'Diese Anwendung hat ihren Namen selbst gewählt. Prüfen Sie die Adresse oben.',
    ownDocument: (host) =>
      html`Diese Anwendung hat ihren Namen selbst gewählt und wird von ${host} beschrieben. Prüfen Sie die Adresse oben.`,
    scopes: 'Angeforderte Berechtigungen',
    details: 'Genau dies wird angefordert',
    openId: {
      openid: 'Erfahren, welches Konto Sie hier verwenden',
      profile: 'Ihren Namen und Ihr Profil sehen',
      email: 'Ihre E-Mail-Adresse sehen',
      offline_access: 'Den Zugriff behalten, auch wenn Sie abwesend sind',
      groups: 'Sehen, in welchen Gruppen Sie sind',
    },
    withoutScopes: 'Diese Ressource hat keine einzelnen Berechtigungen. Die Anwendung kann sie vollständig nutzen.',
    deny: 'Ablehnen',
    allow: 'Zulassen',
    refused: 'Diese Anfrage kann nicht fortgesetzt werden',
    expired: 'Diese Anfrage ist abgelaufen, oder es wurde bereits über sie entschieden.',
    noDecision: 'Die Entscheidung fehlt.',
    nothingAllowed: 'Es wurde nichts zugelassen. Wählen Sie mindestens eine Berechtigung aus, oder lehnen Sie ab.',
    tooMuchAllowed: 'Es wurde mehr zugelassen, als angefordert wurde.',
  },
  es: {
    title: (application) => `¿Permitir ${application}?`,
    heading: (application) => html`${application} solicita acceso`,
    accessTo: 'Acceso a',
    yourAccount: 'su cuenta',
    afterwards: 'Después se le enviará a',
    onDevice: 'Este es un programa de su propio dispositivo. Permítalo solo si usted lo acaba de iniciar.',
    ownName: 'Esta aplicación ha elegido su propio nombre. Compruebe la dirección indicada arriba.',
    ownDocument: (host) =>
      html`Esta aplicación ha elegido su propio nombre y está descrita por ${host}. Compruebe la dirección indicada arriba.`,
    scopes: 'Permisos solicitados',
    details: 'Pide exactamente esto',
    openId: {
      openid: 'Saber qué cuenta utiliza aquí',
      profile: 'Ver su nombre y su perfil',
      email: 'Ver su dirección de correo electrónico',
      offline_access: 'Conservar el acceso cuando usted no esté presente',
      groups: 'Ver los grupos a los que pertenece',
    },
    withoutScopes: 'Este recurso no tiene permisos individuales. La aplicación puede usarlo en su totalidad.',
    deny: 'Denegar',
    allow: 'Permitir',
    refused: 'Esta solicitud no puede continuar',
    expired: 'Esta solicitud ha caducado o ya se ha decidido sobre ella.',
    noDecision: 'Falta la decisión.',
    nothingAllowed: 'No se ha permitido nada. Elija al menos un permiso o deniegue la solicitud.',
    tooMuchAllowed: 'Se ha permitido más de lo solicitado.',
  },
}
