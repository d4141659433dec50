/** How `tendon firmware` is spelt; what it does is loaded when it is used. */
import type { Command } from "commander";

export function addFirmwareCommand(program: Command, gatewayOptions: (command: Command) => Command): Command {
  const firmware = program.command("firmware").description("Offer boards newer firmware, a few at a time.");
  gatewayOptions(firmware.command("add"))
    .description("Hand in an image; boards of that name are offered it when they start next.")
    .argument("<file>", "the application as it was built, such as build/xiaozhi.bin")
    .requiredOption("--board <name>", "the board it was built for, as `tendon devices` shows it")
    .option("--version <version>", "refuse it if it has another version than this")
    .option("--share <percent>", "how many of the boards get it for now, such as 10% (default all)")
    .option("--force", "also for boards with a newer version: a way back")
    .option("--any-board", "take it although the board's name does not occur in it")
    .action(async (file, options) => (await import("./firmware.ts")).addFirmware(file, options));
  firmware
    .command("sample")
    .description("Write a small image that updates virtual boards; a real board cannot run it.")
    .argument("<file>", "the file to write, such as sample.bin")
    .option("--board <name>", "the board it is for, as in `tendon simulate esp32 --board`", "virtual-esp32")
    .option("--version <version>", "the version that virtual boards report once they run it", "2.5.0")
    .option("--json", "print JSON")
    .action(async (file, options) => (await import("./firmware-sample.ts")).writeSample(file, options));
  gatewayOptions(firmware.command("list"))
    .description("List the images and how far they have come.")
    .action(async (options) => (await import("./firmware.ts")).listFirmware(options));
  gatewayOptions(firmware.command("show"))
    .description("Show one image, with the boards that did not come back with it.")
    .argument("<id>", "the image's id")
    .action(async (id, options) => (await import("./firmware.ts")).showFirmware(id, options));
  gatewayOptions(firmware.command("share"))
    .description("Offer an image to more boards, or fewer; those that have it keep it.")
    .argument("<id>", "the image's id")
    .argument("<percent>", "such as 50%")
    .action(async (id, share, options) => (await import("./firmware.ts")).shareFirmware(id, share, options));
  gatewayOptions(firmware.command("halt"))
    .description("Offer an image to nobody for now.")
    .argument("<id>", "the image's id")
    .action(async (id, options) => (await import("./firmware.ts")).haltFirmware(id, options));
  gatewayOptions(firmware.command("resume"))
    .description("Go on with an image that was halted; what failed so far no longer counts.")
    .argument("<id>", "the image's id")
    .option("--retry", "offer it again to boards that did not come back with it")
    .action(async (id, options) => (await import("./firmware.ts")).resumeFirmware(id, options));
  gatewayOptions(firmware.command("remove"))
    .description("Remove an image; boards that have it keep it.")
    .argument("<id>", "the image's id")
    .action(async (id, options) => (await import("./firmware.ts")).removeFirmware(id, options));
  return firmware;
}
