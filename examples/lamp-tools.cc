// The tools of lamp-tools.yaml for a board with the xiaozhi firmware 2.x: the same names, arguments and answers.
//
// Copy the class next to your board's file in main/boards/, call lamp_.AddTools() where the board adds its tools, and
// build with ESP-IDF. Before the board exists, `npx tendon simulate esp32 --tools examples/lamp-tools.yaml` answers the same.
#include <driver/gpio.h>

#include <stdexcept>

#include "mcp_server.h"

class Lamp {
public:
    explicit Lamp(gpio_num_t pin) : pin_(pin) {
        gpio_reset_pin(pin_);
        gpio_set_direction(pin_, GPIO_MODE_OUTPUT);
        Switch(false);
    }

    void AddTools() {
        auto& server = McpServer::GetInstance();

        server.AddTool("self.lamp.set", "Turns the lamp on or off.",
            PropertyList({Property("on", kPropertyTypeBoolean)}),
            [this](const PropertyList& arguments) -> ReturnValue {
                Switch(arguments["on"].value<bool>());
                return true;
            });

        server.AddTool("self.lamp.get", "Whether the lamp is on.",
            PropertyList(),
            [this](const PropertyList&) -> ReturnValue { return on_; });

        server.AddUserOnlyTool("self.lamp.factory_reset", "Forgets everything the lamp has learnt.",
            PropertyList(),
            [](const PropertyList&) -> ReturnValue {
                throw std::runtime_error("the lamp has nothing to forget");
            });
    }

private:
    void Switch(bool on) {
        on_ = on;
        gpio_set_level(pin_, on ? 1 : 0);
    }

    gpio_num_t pin_;
    bool on_ = false;
};
