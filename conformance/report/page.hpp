// The fixed parts of the HTML report: everything that a browser needs, without a network.
#pragma once

namespace bp::conform {

extern const char* const page_style;
extern const char* const page_body;
extern const char* const page_script;  // reads the JSON in #data, whose shape html.cpp writes

}  // namespace bp::conform
