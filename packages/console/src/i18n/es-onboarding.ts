import type { entrance as en } from "./en-entrance.ts";

export const entrance: Readonly<Record<keyof typeof en, string>> = {
  "signIn.title": "Bienvenido a Tendon",
  "signIn.lead": "Sus dispositivos, lo que saben hacer y quién se lo pidió.",
  "signIn.field": "Token o código",
  "signIn.submit": "Entrar",
  "signIn.busy": "Entrando…",
  "signIn.hint": "Un enlace para entrar lo muestra",
  "signIn.wrong":
    "Esta pasarela no conoce ese token ni ese código; el token de su administrador está en el archivo admin-token de su carpeta de datos.",
  "signIn.usedLink": "Este enlace ya se usó o es demasiado antiguo; la orden de abajo muestra uno nuevo.",
  "signIn.wait": "Demasiados intentos fallidos desde aquí; espere unos segundos e inténtelo de nuevo.",

  "signedOut.title": "Su sesión se ha cerrado",
  "signedOut.signed_out": "Cerró la sesión en otra pestaña, o el navegador borró sus cookies.",
  "signedOut.token": "El token con el que entró fue revocado o sustituido, o ha caducado.",
  "signedOut.idle": "Las sesiones terminan tras 12 horas sin uso.",
  "signedOut.age": "Las sesiones terminan a los 7 días.",
  "signedOut.displaced": "Hay demasiadas sesiones abiertas; la suya era la que más tiempo llevaba sin uso.",
  "signedOut.unknown": "La pasarela no conoce su sesión. Puede que se haya sustituido su almacenamiento.",
  "signedOut.next": "Entre de nuevo con un token, o con un enlace nuevo de la orden de abajo.",

  "firstRun.title": "Aún no hay dispositivos",
  "firstRun.board":
    "Escriba esta dirección OTA en la página de ajustes de una placa con el firmware xiaozhi. Aparecerá aquí automáticamente.",
  "firstRun.otaLabel": "Dirección OTA",
  "firstRun.demo": "¿No tiene una placa a mano? Una virtual se comporta igual.",
  "firstRun.start": "Iniciar un dispositivo virtual",

  "reach.title": "Las placas no pueden llegar a esta dirección",
  "reach.this_machine":
    "{host} es solo esta máquina: una placa con esta dirección busca la pasarela en sí misma. Arranque la pasarela con --host 0.0.0.0 para escuchar en la red.",
  "reach.public_url":
    "{host} es solo esta máquina: una placa con esta dirección busca la pasarela en sí misma. Ponga en http.publicUrl la dirección de esta máquina en la red de las placas.",
  "reach.unreadable":
    "El firmware no puede leer esta dirección. Ponga en http.publicUrl http(s)://HOST:PORT con un nombre simple o una dirección IPv4.",
};
