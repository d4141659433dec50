/** Arguments of `tendon device`. The implementation is loaded only when a subcommand runs. */
import { type Command, Option } from "commander";
import { gatewayOptions, wholeNumber } from "../command-options.ts";

export function addDeviceCommand(program: Command): Command {
  const device = program
    .command("device")
    .description("Approve, import, rename, tag, revoke and delete devices.");
  gatewayOptions(device.command("approve"))
    .description("Approve a device by its activation code or its id.")
    .argument("<code|device>", "six digits, or the id of a device that is waiting for approval")
    .action(async (name, options) => (await import("./device-admission.ts")).approveDevice(name, options));
  gatewayOptions(device.command("pending"))
    .description("List the devices that are waiting for approval.")
    .action(async (options) => (await import("./device-admission.ts")).pendingDevices(options));
  gatewayOptions(device.command("revoke"))
    .description("Revoke a device's credentials and disconnect it.")
    .argument("<device>", "id or alias")
    .action(async (name, options) => (await import("./device-admission.ts")).revokeDevice(name, options));
  gatewayOptions(device.command("transport"))
    .description("Set the transport that a device is given the next time it starts.")
    .argument("<device>", "id or alias")
    .argument("<transport>", "mqtt, websocket, or default for the gateway's setting")
    .action(async (name, transport, options) =>
      (await import("./device-admission.ts")).setTransport(name, transport, options),
    );
  gatewayOptions(device.command("import"))
    .description("Import devices that may connect without approval.")
    .argument("<file>", "CSV with a header (id, serial, hmac_key, tags), or one JSON object per line")
    .action(async (file, options) => (await import("./device-import.ts")).importDevices(file, options));
  gatewayOptions(device.command("imports"))
    .description("List the imported devices, and whether they have connected.")
    .addOption(new Option("--missing", "only devices that have never connected").conflicts("connected"))
    .option("--connected", "only devices that have connected")
    .option("--search <text>", "only devices whose id, serial number or tags contain this text")
    .option("--tag <tag>", "only devices imported with this tag")
    .option("--imported-at <time>", "only devices of one import: `importedAt` of its entry in `tendon audit`")
    .option("--limit <number>", "maximum number of devices (default: all)", wholeNumber)
    .action(async (options) => (await import("./device-imports.ts")).listImports(options));
  gatewayOptions(device.command("unimport"))
    .description("Remove a device from the imported list. A device that has credentials keeps them.")
    .argument("<device>", "id of an imported device")
    .action(async (name, options) => (await import("./device-imports.ts")).removeImport(name, options));
  gatewayOptions(device.command("changes"))
    .description("Show the tools that changed since they were first accepted.")
    .argument("[device]", "id or alias; all devices by default")
    .action(async (name, options) => (await import("./device-changes.ts")).toolChanges(name, options));
  gatewayOptions(device.command("accept"))
    .description("Accept changed tools: one, all of a device, or all of every device with --all.")
    .argument("[device]", "id or alias")
    .argument("[tool]", "name of the tool; all changed tools of the device by default")
    .option("--all", "accept all changes of all devices; review them first with `device changes`")
    .option("--digest <digest>", "accept only this digest, as shown by `device changes`")
    .action(async (name, tool, options) =>
      (await import("./device-changes.ts")).acceptTools(name, tool, options),
    );
  gatewayOptions(device.command("add-http"))
    .description("Add an MCP server over Streamable HTTP as a device.")
    .argument("<alias>", "lower-case letters, digits and dashes, starting with a letter")
    .argument("<url>", "address of the server, such as http://192.168.1.20/mcp")
    .option("--header <header...>", 'header of every request, such as "Authorization: Bearer …"')
    .action(async (alias, url, options) =>
      (await import("./device-http.ts")).addHttpDevice(alias, url, options),
    );
  gatewayOptions(device.command("rename"))
    .description("Give a device another alias. The old alias keeps working.")
    .argument("<device>", "id or alias")
    .argument("<alias>", "lower-case letters, digits and dashes, starting with a letter")
    .action(async (name, alias, options) => (await import("./device.ts")).renameDevice(name, alias, options));
  gatewayOptions(device.command("tag"))
    .description("Replace the tags of a device.")
    .argument("<device>", "id or alias")
    .argument("[tags...]", "the new tags; none removes all tags")
    .action(async (name, tags, options) => (await import("./device.ts")).tagDevice(name, tags, options));
  gatewayOptions(device.command("delete"))
    .description("Delete a device and its credentials.")
    .argument("<device>", "id or alias")
    .option("--history", "delete its calls, events, photos and stored answers too")
    .action(async (name, options) => (await import("./device.ts")).deleteDevice(name, options));
  return device;
}
