import type { device as en } from "./en-device.ts";

export const device: Readonly<Record<keyof typeof en, string>> = {
  "device.board": "Placa",
  "device.firmware": "Firmware",
  "device.transport": "Transporte",
  "device.id": "Id",
  "status.temperature": "Temperatura del chip",
  "delete.history": "Borrar también sus llamadas, eventos y fotos",
  "delete.effectHistory":
    "El dispositivo se desconecta. Se borran su nombre, sus etiquetas, sus credenciales y todo lo registrado sobre él. La auditoría conserva solo el borrado.",
  "blocked.eachUse": "Cada uso requiere aprobación.",
  "blocked.quarantined":
    "La herramienta ha cambiado desde que se aceptó. Un administrador debe aceptar antes el cambio.",
  "tools.changed": "cambiada, bloqueada",
  "tools.argumentsDecide": "Con algunos valores, una regla de acceso exige aprobación o rechaza la llamada.",
  "confirm.approval":
    "Una regla de acceso exige aprobación: otra persona debe aprobar la llamada antes de que se ejecute.",
  "purpose.sound": "Sonido",
  "purpose.camera": "Cámara",
  "purpose.screen": "Pantalla",
  "purpose.light": "Luz",
  "purpose.climate": "Clima y sensores",
  "purpose.safety": "Seguridad y presencia",
  "purpose.movement": "Movimiento",
  "purpose.system": "Sistema y firmware",
  "purpose.state": "Estado e información",
  "purpose.other": "Otras",
};
