import type { HomeWords } from "./home-texts.ts";

export const spanish: HomeWords = {
  lights: "Luces",
  alarm: "Alarma",
  presence: "Presencia",
  climate: "Clima",
  on: "encendida",
  off: "apagada",
  armed: "armada",
  disarmed: "desarmada",
  empty: "no hay nadie en casa",
  occupied: "hay alguien en casa",
  arrived: "llegó",
  left: "se fue",
  heating: "calentando",
  noVisits: "Todavía no hay llegadas ni salidas.",
  noScenes: "No hay escenas. Añade alguna en `scenes` de home.yaml.",
  settingsCreated: (file) =>
    `no se encontró configuración; se escribieron los valores por defecto en ${file}`,
  putAside: (file, backup) =>
    `${file} no es un archivo de estado válido; se renombró a ${backup} y se usan los valores por defecto`,
  target: (degrees) => `objetivo ${degrees} °C`,
  sceneActivated: (name) => `La escena ${name} está activa.`,
  lightUnknown: (name, known) => `luz desconocida \`${name}\`; las luces son ${known}`,
  sceneUnknown: (name, known) => `escena desconocida \`${name}\`; las escenas son ${known}`,
  toolUnknown: (name, known) => `herramienta desconocida \`${name}\`; las herramientas son ${known}`,
  featureOff: (feature, file) => `función no activada: añade \`${feature}\` a \`features\` en ${file}`,
  // The protocol's own texts are Spanish.
  argumentRefused: ({ message }) => message,
  argument: {
    target: "la temperatura debe ser un número de 5 a 30 °C",
    people: "un nombre debe tener de 1 a 64 caracteres en una línea, y puede haber 100 personas como máximo",
    limit: "el límite debe ser un número entero de 1 a 200",
  },
  state: {
    state_unreadable: "no se puede leer el estado de la casa",
    state_unwritable: "no se puede guardar el estado de la casa",
    state_newer: "una versión más nueva escribió el estado de la casa",
    state_locked: "otro proceso está usando el estado de la casa",
  },
  rules: {
    syntax: (values) => values.join(", "),
    missing: () => "no existe; revisa la ruta, o añade --init para crearlo con los valores por defecto",
    path: () => "debe ser la ruta de un archivo de herramientas",
    unknown_key: (values) => `no es una opción; las opciones aquí son ${values.join(", ")}`,
    mapping: () => "debe tener claves y valores",
    flag: () => "debe ser true o false",
    name: () => "debe ser un nombre de 1 a 64 caracteres en una línea",
    names: (values) => `debe ser una lista de hasta ${values.join()} nombres distintos`,
    lights: (values) =>
      `debe ser una lista de hasta ${values.join()} nombres distintos, o nombres con true o false`,
    feature: (values) => `debe ser una lista de funciones: ${values.join(", ")}`,
    number: (values) => `debe ser un número de ${values.join(" a ")}`,
    light_unknown: (values) => `no es una luz; las luces son ${values.join(", ")}`,
    climate_off: () => "requiere `climate` en `features`",
  },
};
