// What is known of each tool of the firmware besides its definition. `stock-tools-page.mjs` makes a page of it.

const photo = { vision: { url: "http://vision.example/explain", token: "secret" } };
const photoAt = (url) => ({ vision: { url, token: "secret" } });
const where = { question: "What is this?" };

/**
 * For each tool: what it does, the boards that have it, calls to make on the virtual board, and what a virtual board cannot
 * show. A call has `arguments`, and optionally `vision` for an `initialize` before it and `note` for what the other side does.
 */
export const facts = {
  "self.get_device_status": {
    does: "Reports volume, screen, battery, network and chip temperature as JSON text.",
    boards: "all",
    calls: [{ arguments: {} }],
    more: [
      "`screen` is always present and may be empty: `brightness` needs a backlight, `theme` a screen higher than 64 pixels. `battery` and `chip` are present if the board measures them.",
      '`network` is `{"type":"wifi","ssid","signal"}` with `strong` (-60 dBm and better), `medium` (-70 dBm and better) or `weak`; `{"type":"cellular","carrier","signal"}`; `{"type":"ethernet","state","ip"}`; or `{"type":"rndis"}`.',
      "The screen fades to a new brightness, so a status right after a change reports an intermediate value.",
    ],
  },
  "self.audio_speaker.set_volume": {
    does: "Sets the volume.",
    boards: "all",
    calls: [
      { arguments: { volume: 50 } },
      { arguments: { volume: 50.7 }, note: "sets 50" },
      { arguments: { volume: 101 } },
      { arguments: { volume: -1 } },
      { arguments: { volume: "50" } },
      { arguments: {} },
    ],
  },
  "self.screen.set_brightness": {
    does: "Sets the brightness of the screen.",
    boards: "boards with a backlight",
    calls: [{ arguments: { brightness: 40 } }, { arguments: { brightness: 101 } }],
  },
  "self.screen.set_theme": {
    does: "Sets the theme: `light` or `dark`.",
    boards: "boards with an LVGL colour screen",
    calls: [
      { arguments: { theme: "dark" } },
      { arguments: { theme: "blue" }, note: "an unknown theme is a result, not an error" },
    ],
  },
  "self.camera.take_photo": {
    does: "Takes a photo, uploads it to the vision address of the last `initialize`, and returns the body of the answer unchanged.",
    boards: "boards with a camera and an LVGL screen",
    calls: [
      { arguments: where, ...photo },
      { arguments: where, note: "no `vision.url` since the last start" },
      { arguments: where, ...photoAt("http://unreachable.example/"), note: "the server cannot be reached" },
      {
        arguments: where,
        ...photoAt("http://vision.example/status/500"),
        note: "the server answers with another status than 200",
      },
      { arguments: where, ...photoAt("http://vision.example/breaks-off"), note: "the answer breaks off" },
      {
        arguments: where,
        ...photoAt("http://vision.example/long"),
        note: "the answer has 8,192 bytes or more: the board hangs until it restarts",
      },
    ],
    more: [
      "The upload is `multipart/form-data`, chunked, with the parts `question` and `file` (`camera.jpg`, JPEG, quality 80) and the headers `Device-Id`, `Client-Id` and `Authorization: Bearer …`.",
      "The board waits up to 30 s for the headers and 30 s for the body. It does nothing else meanwhile.",
      "Other errors: `Failed to capture photo`, `No camera frame captured`, `Failed to create JPEG queue`, `Failed to encode image to JPEG`.",
    ],
  },
  "self.get_system_info": {
    does: "Reports chip, flash, firmware, partitions, display and network as JSON text: the body that the board sends to its OTA address.",
    boards: "all",
    calls: [{ arguments: {}, cut: 200 }],
    more: ['The text is assembled without escaping: a Wi-Fi name with `"` makes it invalid JSON.'],
  },
  "self.reboot": {
    does: "Restarts the board.",
    boards: "all",
    calls: [{ arguments: {} }],
    more: [
      "The board disconnects after about 1 s and restarts about 1 s later. Over MQTT it sends `goodbye` first, if an audio session is open.",
    ],
  },
  "self.upgrade_firmware": {
    does: "Downloads a firmware image, installs it and restarts the board.",
    boards: "all",
    calls: [
      { arguments: { url: "http://host.example/firmware.bin" }, note: "installed: the board restarts" },
      { arguments: { url: "http://unreachable.example/x" }, note: "failed: `true` all the same" },
      { arguments: {}, note: "the default is the help text, which the board tries as an address" },
    ],
    more: [
      "So an answer means that the upgrade failed. Over WebSocket the board closes the connection before the download, and the answer is lost.",
      "The download needs status 200 and `Content-Length`. The board does nothing else meanwhile.",
    ],
  },
  "self.screen.get_info": {
    does: "Reports the size of the screen and whether it is monochrome, as JSON text.",
    boards: "boards with an LVGL screen",
    calls: [{ arguments: {} }],
  },
  "self.screen.snapshot": {
    does: "Uploads a JPEG picture of the screen to an address.",
    boards:
      "boards with an LVGL screen, built with `CONFIG_LV_USE_SNAPSHOT` (the default on ESP32-S3 and ESP32-P4)",
    calls: [
      { arguments: { url: "http://host.example/upload" } },
      { arguments: { url: "http://host.example/upload", quality: 101 } },
      {
        arguments: { url: "http://host.example/upload", quality: "50" },
        note: "a wrong type uses the default",
      },
      { arguments: { quality: 50 } },
      { arguments: { url: "ftp://host.example" } },
      { arguments: { url: "http://host.example/status/500" } },
    ],
    more: [
      "The upload is `multipart/form-data`, chunked, with one part `file` (`screenshot.jpg`) and no credentials.",
      "The board ignores the body of the answer. It has to be shorter than 8 KB.",
      "Other errors: `Failed to snapshot screen`.",
    ],
  },
  "self.screen.preview_image": {
    does: "Downloads a picture and shows it on the screen.",
    boards: "the same as `self.screen.snapshot`",
    calls: [
      { arguments: { url: "http://host.example/png" } },
      { arguments: { url: "http://host.example/text" }, note: "not a picture" },
      { arguments: { url: "http://host.example/status/404" } },
      { arguments: { url: "http://host.example/breaks-off" } },
      { arguments: { url: "http://host.example/chunked" }, note: "an answer without `Content-Length`" },
      { arguments: { url: "http://unreachable.example/a" } },
    ],
  },
  "self.assets.set_download_url": {
    does: "Sets the address from which the board downloads its fonts and pictures at the next start.",
    boards: "all",
    calls: [
      { arguments: { url: "https://host.example/assets.bin" } },
      { arguments: { url: 5 } },
      {
        arguments: { url: "h".repeat(4000) },
        shown: '`{"url":…}` with 4,000 bytes',
        note: "the board crashes and restarts",
      },
    ],
  },
};
