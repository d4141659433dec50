/** Arguments of `tendon firmware`. The implementation is loaded only when a subcommand runs. */
import type { Command } from "commander";
import { gatewayOptions } from "../command-options.ts";

export function addFirmwareCommand(program: Command): Command {
  const firmware = program.command("firmware").description("Roll out firmware to boards, in stages.");
  gatewayOptions(firmware.command("add"))
    .description("Add an image. Boards with that name are offered it the next time they start.")
    .argument("<file>", "the built application image, such as build/xiaozhi.bin")
    .requiredOption("--board <name>", "the board it was built for, as `tendon devices` shows it")
    .option("--version <version>", "reject the image if its version differs from this")
    .option("--share <percent>", "share of these boards that are offered it, such as 10% (default 100%)")
    .option(
      "--tag <tag>",
      "offer it only to boards with this tag; may be repeated for several tags",
      (tag: string, before: readonly string[]) => [...before, tag],
      [],
    )
    .option("--force", "also offer it to boards with a newer version, as a downgrade")
    .option("--any-board", "accept the image even if it does not contain the board's name")
    .action(async (file, options) => (await import("./firmware.ts")).addFirmware(file, options));
  firmware
    .command("sample")
    .description("Write a small image for virtual boards. A real board cannot run it.")
    .argument("<file>", "the file to write, such as sample.bin")
    .option("--board <name>", "the board it is for, as in `tendon simulate esp32 --board`", "virtual-esp32")
    .option("--version <version>", "the version that virtual boards report once they run it", "2.5.0")
    .option("--json", "print JSON")
    .action(async (file, options) => (await import("./firmware-sample.ts")).writeSample(file, options));
  gatewayOptions(firmware.command("list"))
    .description("List the images and their roll-out progress.")
    .action(async (options) => (await import("./firmware.ts")).listFirmware(options));
  gatewayOptions(firmware.command("show"))
    .description("Show one image, with the boards that failed to update.")
    .argument("<id>", "id of the image")
    .action(async (id, options) => (await import("./firmware.ts")).showFirmware(id, options));
  gatewayOptions(firmware.command("share"))
    .description("Change the share of boards that are offered an image. Boards that have it keep it.")
    .argument("<id>", "id of the image")
    .argument("<percent>", "such as 50%")
    .action(async (id, share, options) => (await import("./firmware.ts")).shareFirmware(id, share, options));
  gatewayOptions(firmware.command("tag"))
    .description("Replace the tags of an image: only boards with one of them are offered it.")
    .argument("<id>", "id of the image")
    .argument("[tags...]", "the new tags")
    .option("--all", "remove the tags: offer it to all boards with that name")
    .action(async (id, tags, options) => (await import("./firmware.ts")).tagFirmware(id, tags, options));
  gatewayOptions(firmware.command("halt"))
    .description("Halt the roll-out of an image.")
    .argument("<id>", "id of the image")
    .action(async (id, options) => (await import("./firmware.ts")).haltFirmware(id, options));
  gatewayOptions(firmware.command("resume"))
    .description("Resume a halted roll-out. Earlier failures no longer count towards halting it.")
    .argument("<id>", "id of the image")
    .option("--retry", "offer it again to boards that failed to update")
    .action(async (id, options) => (await import("./firmware.ts")).resumeFirmware(id, options));
  gatewayOptions(firmware.command("remove"))
    .description("Remove an image. Boards that have it keep it.")
    .argument("<id>", "id of the image")
    .action(async (id, options) => (await import("./firmware.ts")).removeFirmware(id, options));
  return firmware;
}
