export const device = {
  "device.board": "Board",
  "device.firmware": "Firmware",
  "device.transport": "Transport",
  "device.id": "Id",
  "status.temperature": "Chip temperature",
  "delete.history": "Also delete its calls, events and photos",
  "delete.effectHistory":
    "The device is disconnected. Its name, tags, credentials and everything recorded about it are deleted. The audit keeps only the deletion.",
  "blocked.eachUse": "Each use requires approval.",
  "blocked.quarantined":
    "The tool has changed since it was accepted. An administrator has to accept the change first.",
  "tools.changed": "changed, blocked",
  "tools.argumentsDecide": "For some values, an access rule requires approval or rejects the call.",
  "confirm.approval":
    "An access rule requires approval: another person has to approve the call before it runs.",
  "purpose.sound": "Sound",
  "purpose.camera": "Camera",
  "purpose.screen": "Screen",
  "purpose.light": "Light",
  "purpose.climate": "Climate and sensors",
  "purpose.safety": "Safety and presence",
  "purpose.movement": "Movement",
  "purpose.system": "System and firmware",
  "purpose.state": "State and information",
  "purpose.other": "Other",
} as const;
