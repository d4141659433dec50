import type { firmware as en } from "./en-firmware.ts";

export const firmware: Readonly<Record<keyof typeof en, string>> = {
  "nav.firmware": "Firmware",
  "firmware.title": "Firmware",
  "firmware.lead": "Despliegue firmware nuevo en las placas, por etapas.",
  "firmware.mayNot": "Solo los administradores pueden gestionar el firmware.",
  "firmware.none": "Aún no hay imágenes",
  "firmware.noneHint":
    "Suba la imagen compilada, como build/xiaozhi.bin. Se ofrece a las placas de ese nombre la próxima vez que arranquen, hasta la parte que indique. Si demasiadas placas no se actualizan, el despliegue se detiene automáticamente.",
  "firmware.add": "Subir imagen",
  "firmware.state.offered": "Ofrecida",
  "firmware.state.halted": "Detenida",
  "firmware.state.missing": "Falta el archivo",
  "firmware.forced": "también para versiones más nuevas",
  "firmware.share": "para el {share} % de las placas",
  "firmware.shareTagged": "para el {share} % de las placas con la etiqueta {tags}",
  "firmware.uploaded": "subida",
  "firmware.rollout": "Progreso",
  "firmware.updated.one": "{count} actualizada",
  "firmware.updated.other": "{count} actualizadas",
  "firmware.fetched.one": "{count} descargada",
  "firmware.fetched.other": "{count} descargadas",
  "firmware.offered.one": "{count} ofrecida",
  "firmware.offered.other": "{count} ofrecidas",
  "firmware.failed.one": "{count} fallida",
  "firmware.failed.other": "{count} fallidas",
  "firmware.notRequested": "Ninguna placa la ha pedido aún.",
  "firmware.failures": "Placas que no se actualizaron",
  "firmware.changeOffer": "Cambiar la oferta",
  "firmware.halt": "Detener",
  "firmware.resume": "Reanudar",
  "firmware.remove": "Quitar",
  "firmware.of": "{version} para {board}",
  "firmware.missingHint": "Este nodo no tiene el archivo, así que no ofrece la imagen.",
  "firmware.shareTitle": "¿A qué placas {board} ofrecer {version}?",
  "firmware.shareLabel": "Parte de las placas",
  "firmware.tagsHint":
    "Solo se ofrece a las placas con una de estas etiquetas; sin etiqueta, a todas las de ese nombre. Separadas por espacios.",
  "firmware.startSmall":
    "Empiece con una etiqueta o una parte pequeña, para que una imagen defectuosa llegue a pocas placas.",
  "firmware.shareEffect":
    "Al {share} % de las placas {board} se les ofrece {version} la próxima vez que arranquen. Las que la tienen la conservan.",
  "firmware.shareEffectTagged":
    "Al {share} % de las placas {board} con la etiqueta {tags} se les ofrece {version} la próxima vez que arranquen. Las que la tienen la conservan.",
  "firmware.haltTitle": "¿Detener {version} para {board}?",
  "firmware.haltEffect":
    "No se ofrece a más placas, y los enlaces de descarga ya entregados dejan de funcionar. Las que la tienen la conservan.",
  "firmware.resumeTitle": "¿Reanudar {version} para {board}?",
  "firmware.resumeEffect":
    "Se ofrece de nuevo al {share} % de las placas. Los fallos anteriores ya no cuentan.",
  "firmware.retry": "Ofrecerla otra vez a las placas que no se actualizaron",
  "firmware.removeTitle": "¿Quitar {version} para {board}?",
  "firmware.removeEffect":
    "Se eliminan el archivo y sus estadísticas, y no se ofrece a más placas. Las que la tienen la conservan.",
  "firmware.file": "Archivo",
  "firmware.fileHint":
    "Solo la imagen de la aplicación compilada: build/xiaozhi.bin. La pasarela la comprueba antes de ofrecerla a ninguna placa.",
  "firmware.tooBig": "El archivo ocupa {size}; una imagen puede ocupar {most} como máximo.",
  "firmware.board": "Placa",
  "firmware.boardHint": "El nombre que comunican sus placas, como esp-box-3.",
  "firmware.force": "Ofrecerla también a placas con una versión más nueva, para volver a esta",
  "firmware.anyBoard": "Aceptarla aunque no contenga el nombre de la placa",
  "firmware.submit": "Subir",
  "firmware.sending": "Subiendo…",
  "firmware.addEffect": "Al {share} % de las placas {board} se les ofrece la próxima vez que arranquen.",
  "firmware.addEffectTagged":
    "Al {share} % de las placas {board} con la etiqueta {tags} se les ofrece la próxima vez que arranquen.",
};
