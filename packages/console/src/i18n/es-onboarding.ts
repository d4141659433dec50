import type { onboarding as en } from "./en-onboarding.ts";

export const onboarding: Readonly<Record<keyof typeof en, string>> = {
  "signIn.title": "Bienvenido a Tendon",
  "signIn.lead": "Sus dispositivos, sus herramientas y las llamadas a ellas.",
  "signIn.field": "Token o código",
  "signIn.submit": "Entrar",
  "signIn.busy": "Entrando…",
  "signIn.hint": "Para obtener un enlace de acceso, ejecute",
  "signIn.wrong":
    "Token o código desconocido. El token de administrador está en el archivo admin-token de la carpeta de datos de la pasarela.",
  "signIn.usedLink": "Este enlace ya se usó o ha caducado. Ejecute la orden de abajo para obtener uno nuevo.",
  "signIn.wait": "Demasiados intentos fallidos. Espere unos segundos e inténtelo de nuevo.",

  "signedOut.title": "Su sesión se ha cerrado",
  "signedOut.signed_out": "Cerró la sesión en otra pestaña, o el navegador borró sus cookies.",
  "signedOut.token": "El token con el que entró fue revocado o sustituido, o ha caducado.",
  "signedOut.idle": "Las sesiones terminan tras 12 horas sin uso.",
  "signedOut.age": "Las sesiones terminan a los 7 días.",
  "signedOut.displaced": "Hay demasiadas sesiones abiertas y la suya era la que más tiempo llevaba sin uso.",
  "signedOut.unknown": "La pasarela no conoce esta sesión. Puede que se haya sustituido su almacenamiento.",
  "signedOut.next": "Entre de nuevo con un token, o con un enlace nuevo de la orden de abajo.",

  "firstRun.title": "Aún no hay dispositivos",
  "firstRun.otaLabel": "Dirección OTA",
  "firstRun.start": "Iniciar un dispositivo virtual",

  "reach.title": "Las placas no pueden llegar a esta dirección",
  "reach.this_machine":
    "Solo esta máquina puede llegar a {host}: una placa con esta dirección buscaría la pasarela en sí misma. Arranque la pasarela con --host 0.0.0.0 para escuchar en la red.",
  "reach.public_url":
    "Solo esta máquina puede llegar a {host}: una placa con esta dirección buscaría la pasarela en sí misma. Ponga en http.publicUrl la dirección de esta máquina en la red de las placas.",
  "reach.unreadable":
    "El firmware no puede interpretar esta dirección. Ponga en http.publicUrl http(s)://HOST:PORT con un nombre de host o una dirección IPv4.",
};
