// The texts of the page on which people decide about approvals, and of the line that leads there, in each language.
import { html, type Markup } from '../../lib/html.ts'

const en = {
  title: 'Requests for your approval',
  waiting: (count: number) =>
    count === 1 ? 'A request waits for your decision' : `${count} requests wait for your decision`,
  lead: 'Allow only what you expect. Deny a request if you do not know why it was sent.',
  none: 'No request waits for your decision.',
  heading: (application: Markup) => html`${application} asks for your approval`,
  equal: (count: number) => `There are ${count} equal requests. You decide about each of them.`,
  application: 'Application',
  message: 'Message of the application',
  asked: 'Asked',
  until: 'Open until',
  confirmText: 'You can allow this after you have signed in again with a second factor.',
  confirm: 'Sign in again',
  unreachable: 'This request requires a sign-in that is not possible here. You can only deny it.',
  mayNot: 'You may not use this. An administrator decides who may. You can only deny the request.',
  allowed: 'You allowed the request.',
  denied: 'You denied the request.',
}

/** By language. */
export const requests: Readonly<Record<'en' | 'de' | 'es', typeof en>> = {
  en,
  de: {
    title: 'Anfragen an Sie',
    waiting: (count) =>
      count === 1 ? 'Eine Anfrage wartet auf Ihre Entscheidung' : `${count} Anfragen warten auf Ihre Entscheidung`,
    lead: 'Lassen Sie nur zu, was Sie erwarten. Lehnen Sie eine Anfrage ab, wenn Sie nicht wissen, warum sie gestellt wurde.',
    none: 'Keine Anfrage wartet auf Ihre Entscheidung.',
    heading: (application) => html`${application} bittet um Ihre Zustimmung`,
    equal: (count) => `Es gibt ${count} gleiche Anfragen. Sie entscheiden über jede einzeln.`,
    application: 'Anwendung',
    message: 'Nachricht der Anwendung',
    asked: 'Gestellt',
    until: 'Offen bis',
    confirmText: 'Sie können dies zulassen, nachdem Sie sich erneut mit einem zweiten Faktor angemeldet haben.',
    confirm: 'Erneut anmelden',
    unreachable: 'Diese Anfrage erfordert eine Anmeldung, die hier nicht möglich ist. Sie können sie nur ablehnen.',
    mayNot:
      'Sie dürfen dies nicht nutzen. Ein Administrator entscheidet, wer es darf. Sie können die Anfrage nur ablehnen.',
    allowed: 'Sie haben die Anfrage zugelassen.',
    denied: 'Sie haben die Anfrage abgelehnt.',
  },
  es: {
    title: 'Solicitudes para usted',
    waiting: (count) => (count === 1 ? 'Una solicitud espera su decisión' : `${count} solicitudes esperan su decisión`),
    lead: 'Permita solo lo que espera. Deniegue una solicitud si no sabe por qué se ha enviado.',
    none: 'Ninguna solicitud espera su decisión.',
    heading: (application) => html`${application} pide su aprobación`,
    equal: (count) => `Hay ${count} solicitudes iguales. Usted decide sobre cada una.`,
    application: 'Aplicación',
    message: 'Mensaje de la aplicación',
    asked: 'Enviada',
    until: 'Abierta hasta',
    confirmText: 'Puede permitirla después de iniciar sesión de nuevo con un segundo factor.',
    confirm: 'Iniciar sesión de nuevo',
    unreachable: 'Esta solicitud requiere un inicio de sesión que aquí no es posible. Solo puede denegarla.',
    mayNot: 'Usted no puede usar esto. Un administrador decide quién puede. Solo puede denegar la solicitud.',
    allowed: 'Ha permitido la solicitud.',
    denied: 'Ha denegado la solicitud.',
  },
}
