// Three firmwares with twelve tools each, with names, texts and sizes like those of the stock firmware. Devices of one
// firmware list the same tools.
const integer = (minimum, maximum) => ({ type: "integer", minimum, maximum });
const text = { type: "string" };

function tool(name, description, properties = {}, required = Object.keys(properties)) {
  const schema = { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
  return { name, description, inputSchema: schema };
}

const userOnly = (...definition) => ({ ...tool(...definition), annotations: { audience: ["user"] } });

export const volumeTool = "self.audio_speaker.set_volume";

const common = [
  tool(
    "self.get_device_status",
    "Reports the present state of the device: speaker volume, screen, battery, network and more.\nUse it in two cases:\n1. to answer a question about the present state, such as how loud the speaker is;\n2. as the first step of a change, because a new value often depends on the present one (a bit louder, dim the screen).",
  ),
  tool(
    volumeTool,
    "Sets the volume of the speaker. If the present volume is unknown, read it with `self.get_device_status` first, and then call this tool.",
    { volume: integer(0, 100) },
  ),
  tool("self.screen.set_brightness", "Sets the brightness of the screen.", { brightness: integer(0, 100) }),
  tool("self.screen.set_theme", "Sets the theme of the screen, either `light` or `dark`.", { theme: text }),
];

/** The fifth tool is that of the board. */
const own = [
  tool(
    "self.camera.take_photo",
    "Takes a photo and explains it.\nUse it when the person asks to look at something.\nArguments:\n  `question`: what the person wants to know about the photo.\nReturns the answer of the vision service.",
    { question: text },
  ),
  tool(
    "self.led_strip.set_all_color",
    "Sets the colour of all lights of the strip. Each part of the colour is a number from 0 to 255.",
    { red: integer(0, 255), green: integer(0, 255), blue: integer(0, 255) },
  ),
  tool(
    "self.chassis.move",
    "Moves the robot. `direction` is forward, back, left or right; `speed` is a percentage and `seconds` the duration.",
    { direction: text, speed: integer(0, 100), seconds: integer(1, 30) },
  ),
];

const forUsers = [
  userOnly("self.get_system_info", "Reports details of the system."),
  userOnly("self.reboot", "Restarts the device."),
  userOnly(
    "self.upgrade_firmware",
    "Installs the firmware from this address. The device downloads it and restarts.",
    { url: { type: "string", default: "The URL of the firmware binary file to download and install" } },
    [],
  ),
  userOnly("self.screen.get_info", "Reports width, height and colours of the screen."),
  userOnly(
    "self.screen.snapshot",
    "Takes a picture of the screen and uploads it to this address.",
    { url: text, quality: { ...integer(1, 100), default: 80 } },
    ["url"],
  ),
  userOnly("self.screen.preview_image", "Shows a picture on the screen.", { url: text }),
  userOnly("self.assets.set_download_url", "Sets the address of the assets.", { url: text }),
];

const boards = ["bench-camera", "bench-lamp", "bench-robot"];

/** The results as texts, so that a reply costs the device next to nothing. */
export const firmwares = boards.map((name, index) => {
  const plain = [...common, own[index]];
  return {
    initialize: JSON.stringify({
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name, version: `2.${index}.4` },
    }),
    plain: JSON.stringify({ tools: plain }),
    all: JSON.stringify({ tools: [...plain, ...forUsers] }),
  };
});

const called = '{"content":[{"type":"text","text":"true"}],"isError":false}';

/** The result of a request to the device with this firmware. */
export function resultOf(firmware, { method, params }) {
  if (method === "tools/call") return called;
  if (method === "initialize") return firmware.initialize;
  if (method === "tools/list") return params?.withUserTools === true ? firmware.all : firmware.plain;
  return "{}";
}

/** Whether the gateway has the whole list of the device when this request is answered. */
export function completesListing({ method, params }) {
  return method === "tools/list" && params?.withUserTools === true;
}

export function macOf(index) {
  return `02:00:00:${[16, 8, 0].map((shift) => ((index >> shift) & 255).toString(16).padStart(2, "0")).join(":")}`;
}
