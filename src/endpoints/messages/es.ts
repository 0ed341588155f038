// The messages of the pages for users, in Spanish (formal address).
import { html } from '../../lib/html.ts'
import { consent } from './consent.ts'
import type { Messages } from './en.ts'
import { requests } from './requests.ts'

export const es: Messages = {
  language: 'es',
  languageName: 'Español',

  signedInAs: (user) => html`Sesión iniciada como ${user}`,
  useAnotherAccount: 'Usar otra cuenta',
  returnTo: (place) => `Volver a ${place}`,
  tryAgain: 'Reintentar',
  signInAgain: 'Volver a iniciar sesión',
  since: (date) => html`desde el ${date}`,
  lastUsed: (date) => html`último uso el ${date}`,

  links: { support: 'Ayuda y contacto', terms: 'Condiciones del servicio', privacy: 'Política de privacidad' },

  reveal: { show: 'Mostrar contraseña', hide: 'Ocultar contraseña' },

  login: {
    title: 'Iniciar sesión',
    lead: (place) => html`Inicie sesión para continuar en ${place}.`,
    asked: (application, place) => html`${application} le pide que inicie sesión en ${place}.`,
    email: 'Correo electrónico',
    password: 'Contraseña',
    submit: 'Iniciar sesión',
    or: 'o',
    continueWith: (provider) => html`Continuar con ${provider}`,
    invalid: 'Este formulario ha caducado. Inicie sesión de nuevo.',
    locked_out: (wait) => `Demasiados intentos fallidos. Vuelva a intentarlo en ${wait}.`,
    failure: 'El correo o la contraseña no son correctos. Si tiene un segundo factor, introduzca también su código.',
    code: 'Código de su segundo factor',
    codeHint:
      'El código de su aplicación de autenticación o un código de recuperación. Déjelo vacío si no tiene un segundo factor.',
    keepPassword: 'Puede dejar la contraseña vacía para usar la que acaba de introducir.',
    passkey: 'Iniciar sesión con una llave de acceso',
    passkeyFailed:
      'El inicio de sesión con una llave de acceso no ha funcionado. Inténtelo de nuevo o use su contraseña.',
    forgot: '¿Olvidó su contraseña?',
    forgotText: 'Pida a un administrador un enlace para establecer una contraseña nueva.',
  },

  start: {
    heading: 'Ha iniciado sesión',
    continue: 'Continuar',
    notSignedOut: 'No se ha cerrado la sesión',
  },

  consent: consent.es,
  requests: requests.es,

  /** After a decision about a consent that the browser does not report to an application. */
  consentAlone: {
    allowed: 'El acceso está permitido',
    allowedText: 'Puede cerrar esta página y volver a su aplicación.',
    denied: 'El acceso está denegado',
    deniedText: 'Ha denegado la solicitud. Puede cerrar esta página.',
  },

  device: {
    title: 'Conectar un dispositivo',
    lead: 'Introduzca el código que muestra su dispositivo o programa.',
    compare: 'Compare este código con el de su dispositivo o programa. Continúe solo si coinciden.',
    label: 'Código',
    phishing:
      'Introduzca solo un código que usted acabe de solicitar. No introduzca nunca un código que haya recibido por correo electrónico, mensaje o llamada: quien se lo envió obtendría acceso en nombre de usted.',
    submit: 'Continuar',
    unknown:
      'Este código no es válido. Puede haber caducado o haberse usado ya. Compruébelo o solicite un código nuevo en su dispositivo.',
    limited: (wait) => `Demasiados códigos incorrectos. Vuelva a intentarlo en ${wait}.`,
    requestedFrom: 'El código se solicitó desde',
    unnamed: 'un programa sin nombre',
    isYours:
      'Permítalo solo si usted lo acaba de iniciar en un dispositivo que conoce. Si ha recibido el código de otra persona, elija «Denegar»: esa persona obtendría acceso en nombre de usted.',
    allowed: 'El dispositivo está conectado',
    allowedText: 'Puede cerrar esta página y volver a su dispositivo.',
    denied: 'El dispositivo no tiene acceso',
    deniedText: 'Ha denegado la solicitud. Puede cerrar esta página.',
  },

  signOut: {
    title: 'Cerrar sesión',
    question: '¿Quiere cerrar la sesión?',
    submit: 'Cerrar sesión',
    stay: 'Mantener la sesión iniciada',
    done: 'Ha cerrado la sesión',
    close: 'Puede cerrar esta página.',
  },

  accessRefused: {
    title: 'Sin acceso',
    heading: (user, resource) => html`${user} no puede usar ${resource}`,
    access: 'Un administrador decide quién puede usar este recurso. Pídale acceso o use otra cuenta.',
    second_factor:
      'Requiere un inicio de sesión con un segundo factor. Inicie sesión de nuevo con él; puede añadir uno en la página de su cuenta.',
    scope_groups:
      'Un administrador decide quién puede tener los permisos que solicita la aplicación. Pregúntele o use otra cuenta.',
  },

  approval: {
    heading: (client) => html`${client} aún no está autorizada`,
    text: 'Un administrador debe aceptarla. La solicitud se ha enviado. Después, empiece de nuevo en la aplicación.',
  },
  connect: {
    title: (provider) => `Conectar ${provider}`,
    heading: (provider) => html`Conectar ${provider}`,
    purpose: (resource) => html`${resource} podrá usarse entonces en su nombre.`,
    submit: 'Conectar',
    key: (provider) => html`Clave de ${provider}`,
    badKey: 'Esta clave no es válida. Cópiela de nuevo.',
    whereToFind: 'Dónde encontrar su clave',
    stored: (connections) =>
      html`La clave se guarda cifrada. Puede eliminar la conexión en cualquier momento en ${connections}.`,
    yourConnections: 'sus conexiones',
  },

  connections: {
    heading: 'Conexiones',
    lead: 'Cuentas de otros servicios que las aplicaciones pueden usar en su nombre.',
    none: 'No tiene conexiones.',
    disconnect: 'Desconectar',
    disconnectFrom: (provider) => `Desconectar ${provider}`,
    lost: (provider) =>
      html`Se perdió una respuesta de ${provider} y, con ella, finalizó su conexión. La conexión no se ha revocado. Vuelva a conectarse cuando una aplicación se lo pida.`,
    denied: 'No se ha establecido la conexión: la solicitud se denegó en el proveedor.',
    unavailable: 'No se ha establecido la conexión: el proveedor no responde. Inténtelo de nuevo más tarde.',
    failed: 'No se ha establecido la conexión: el proveedor comunicó un error.',
  },

  passwordLink: {
    title: 'Establecer la contraseña',
    lead: (length) =>
      `Elija una contraseña de al menos ${length} caracteres. Se cerrarán todas las sesiones de su cuenta.`,
    next: 'Contraseña nueva',
    again: 'Repita la contraseña nueva',
    submit: 'Establecer la contraseña',
    problems: {
      tooShort: 'La contraseña es demasiado corta.',
      tooLong: 'La contraseña es demasiado larga.',
      differs: 'Las dos contraseñas no son iguales.',
    },
    done: 'Se ha establecido su contraseña',
    ended: 'Se han cerrado todas las sesiones de su cuenta. Inicie sesión con la contraseña nueva.',
    invalidTitle: 'Este enlace no es válido',
    invalid: 'El enlace ya se ha usado, se ha reemplazado o ha caducado. Pida un enlace nuevo a un administrador.',
  },

  factor: {
    heading: 'Segundo factor',
    lead: 'Un segundo factor protege su cuenta si otros averiguan su contraseña. Después se le pedirá en cada inicio de sesión.',
    needed: 'Su cuenta o la aplicación exige un segundo factor. Añada uno para continuar.',
    none: 'No tiene ningún segundo factor.',
    elsewhere: (provider) => html`Usted inicia sesión en ${provider}. Los segundos factores se gestionan allí.`,
    kinds: { totp: 'Aplicación de autenticación', passkey: 'Llave de acceso' },
    addApp: 'Añadir una aplicación de autenticación',
    addPasskey: 'Añadir una llave de acceso',
    passkeyName: 'Nombre de la llave de acceso, por ejemplo de este dispositivo',
    passkeyFailed: 'La llave de acceso no se ha añadido. Inténtelo de nuevo o use otro dispositivo.',
    noScript: 'Las llaves de acceso necesitan JavaScript y un navegador compatible.',
    remove: 'Eliminar',
    removeFactor: (factor) => `Eliminar: ${factor}`,
    codesLeft: (count) => `Quedan ${count} códigos de recuperación`,
    newCodes: 'Nuevos códigos de recuperación',
    appLead:
      'Escanee este código con una aplicación de autenticación, por ejemplo en su teléfono. Después introduzca los seis dígitos que muestra la aplicación.',
    openApp: 'Abrir la aplicación en este dispositivo',
    byHand: 'O introduzca esta clave a mano en la aplicación:',
    code: 'Código de la aplicación',
    confirm: 'Confirmar',
    wrongCode:
      'Este código no es correcto. Compruebe la hora de su teléfono e introduzca el código que la aplicación muestra ahora.',
    codesLead:
      'Guarde estos códigos de recuperación en un lugar seguro. Cada uno permite iniciar sesión una vez, junto con su contraseña, si pierde su segundo factor. No se mostrarán de nuevo.',
    tooMany: 'Tiene todos los factores de este tipo que son posibles. Elimine antes uno.',
    lost: 'Si pierde su dispositivo, inicie sesión con un código de recuperación o pida a un administrador que restablezca sus segundos factores.',
    done: 'Sus segundos factores se han cambiado.',
  },

  account: {
    title: 'Su cuenta',
    parts: 'En esta página',
    applications: {
      heading: 'Aplicaciones',
      lead: 'Estas aplicaciones pueden usar recursos en su nombre.',
      none: 'Ninguna aplicación tiene acceso.',
      accessTo: (resource) => html`Acceso a ${resource}`,
      accessToAccount: 'Acceso a su cuenta',
      unusedSince: (date) => `sin uso desde el ${date}`,
      remove: 'Quitar el acceso',
      removeFrom: (application, resource) => `Quitar el acceso: ${application}, ${resource}`,
      done: 'Se ha quitado el acceso. Los tokens de la aplicación ya no son válidos.',
    },
    signIns: {
      heading: 'Sesiones',
      lead: 'Tiene la sesión iniciada en estos navegadores. Si cierra una sesión, las aplicaciones conservan su acceso.',
      browserOn: (browser, system) => `${browser} en ${system}`,
      unknownBrowser: 'Navegador desconocido',
      thisBrowser: 'este navegador',
      signOut: 'Cerrar sesión',
      signOutOf: (browser, address) => `Cerrar sesión: ${browser}, ${address}`,
      endOthers: 'Cerrar todas las demás',
      done: 'Se ha cerrado la sesión.',
    },
    password: {
      heading: 'Contraseña',
      lead: 'Una contraseña nueva cierra todas las demás sesiones. Las aplicaciones conservan su acceso.',
      elsewhere: (provider) => html`Usted inicia sesión en ${provider}. Puede cambiar su contraseña allí.`,
      current: 'Contraseña actual',
      next: 'Contraseña nueva',
      again: 'Repita la contraseña nueva',
      submit: 'Cambiar contraseña',
      wrong: 'La contraseña actual no es correcta.',
      tooShort: (length) => `La contraseña nueva debe tener al menos ${length} caracteres.`,
      tooLong: 'La contraseña nueva es demasiado larga.',
      differs: 'Las dos contraseñas nuevas no coinciden.',
      stale: 'Su contraseña se cambió al mismo tiempo. Inténtelo de nuevo.',
      done: 'Se ha cambiado su contraseña. Se han cerrado todas las demás sesiones.',
    },
    language: {
      heading: 'Idioma',
      label: 'Idioma de estas páginas en este navegador',
      submit: 'Guardar',
    },
  },

  errors: {
    title: 'No se puede atender esta solicitud',
    advice:
      'Vuelva a la aplicación e inténtelo de nuevo. Si el error se repite, envíe este identificador de solicitud al equipo de soporte de la aplicación:',
    texts: {
      invalid_request: 'La aplicación envió una solicitud no válida.',
      invalid_request_uri: 'Este enlace ya se utilizó o es demasiado antiguo. Empiece de nuevo en la aplicación.',
      invalid_client: 'La aplicación no está registrada aquí o no se puede usar.',
      invalid_scope: 'La aplicación solicitó permisos que no puede obtener.',
      invalid_target: 'La aplicación solicitó acceso a un recurso al que no puede acceder.',
      access_denied: 'Esta solicitud no está permitida.',
      not_found: 'Esta página no existe.',
      slow_down: 'Se han recibido demasiadas solicitudes. Espere antes de volver a intentarlo.',
      server_error: 'Se produjo un error interno. Inténtelo de nuevo más tarde.',
      temporarily_unavailable: 'El servicio no está disponible en este momento. Inténtelo de nuevo más tarde.',
      unmet_authentication_requirements: 'La aplicación exige un tipo de inicio de sesión que no está disponible aquí.',
      login_required: 'No ha iniciado sesión.',

      waiting_request_expired:
        'Esta página estuvo abierta demasiado tiempo. Vuelva a la aplicación y empiece de nuevo.',
      not_signed_in: 'No ha iniciado sesión. Inicie sesión e inténtelo de nuevo.',
      no_cookies: 'Su navegador no envía cookies. Permita las cookies de este sitio web e inténtelo de nuevo.',
      bad_form: 'Este formulario no pertenece a su sesión. Vuelva atrás y cargue la página de nuevo.',
      cross_site: 'La solicitud provino de otro sitio web. Esas solicitudes no están permitidas.',
      repeated_cookie:
        'Su navegador envió dos cookies con el mismo nombre. Elimine las cookies de este sitio web y de su dominio superior.',
      oidc: 'No se pudo completar su inicio de sesión en el proveedor de identidad.',
      oidc_state: 'Este inicio de sesión ha caducado, ya se ha usado o se comenzó en otro navegador.',
      oidc_other_provider: 'Este inicio de sesión se comenzó en otro proveedor de identidad.',
      oidc_state_used: 'Este inicio de sesión ya se ha usado.',
      oidc_too_many_failures:
        'Demasiados inicios de sesión fallidos desde su dirección. Espere antes de volver a intentarlo.',
      oidc_email_taken: 'Su dirección de correo electrónico ya pertenece a otra cuenta. Consulte a un administrador.',
      oidc_email_domain: 'No puede iniciar sesión aquí con su dirección de correo electrónico.',
      oidc_user_disabled: 'Su cuenta está desactivada. Consulte a un administrador.',
      oidc_upstream_access_denied: 'El proveedor de identidad no ha permitido su inicio de sesión.',
      state_of_another_user: 'Otro usuario inició esta conexión. Empiece de nuevo.',
      unknown_state: 'Esta solicitud de conexión ha caducado o ya se ha usado. Empiece de nuevo.',
      state_used: 'Esta solicitud de conexión ya se ha usado. Empiece de nuevo.',
      connect_off: 'Las conexiones con otros servicios no están activadas aquí.',
    },
  },
}
