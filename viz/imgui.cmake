# Dear ImGui (docking) and ImPlot, compiled once into refit::imgui without our warnings. Sets
# REFIT_HAS_VIEW: whether they, EGL's and GL's headers, libpng and giflib are here.
#
# Where from, in this order: REFIT_IMGUI_ROOT (a folder with imgui/ and implot/), a clone of two
# pinned tags, the source archive of imgui-bundle from PyPI, pinned by its hash.
set(REFIT_VIEW AUTO CACHE STRING "refit view: AUTO (where what it needs is found), ON or OFF")
set_property(CACHE REFIT_VIEW PROPERTY STRINGS AUTO ON OFF)
set(REFIT_IMGUI_ROOT "" CACHE PATH "Folder with imgui/ and implot/; nothing is fetched then")
set(REFIT_IMGUI_FETCH AUTO CACHE STRING "AUTO (GIT where it answers, else PIP), GIT, PIP or OFF")
set_property(CACHE REFIT_IMGUI_FETCH PROPERTY STRINGS AUTO GIT PIP OFF)

set(imgui_git https://github.com/ocornut/imgui.git)
set(imgui_tag v1.92.9b-docking)
set(implot_git https://github.com/epezent/implot.git)
set(implot_tag v1.0)
set(imgui_least 19280)  # IMGUI_VERSION_NUM
set(imgui_bundle 1.93.0)
set(imgui_bundle_hash
    sha256:10ad1dab8258a6787b4f07bb926b08d0efc648a7906242568c8dd778c5e719bf)

# A clone that fails ends the configuration, so it is asked first.
function(refit_git_answers result)
    set(${result} OFF PARENT_SCOPE)
    find_package(Git QUIET)
    if(Git_FOUND)
        execute_process(
            COMMAND ${GIT_EXECUTABLE} ls-remote --exit-code ${imgui_git} refs/tags/${imgui_tag}
            TIMEOUT 10 RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
        if(code EQUAL 0)
            set(${result} ON PARENT_SCOPE)
        endif()
    endif()
endfunction()

function(refit_fetch_git)
    include(FetchContent)
    FetchContent_Declare(imgui GIT_REPOSITORY ${imgui_git} GIT_TAG ${imgui_tag} GIT_SHALLOW ON)
    FetchContent_Declare(implot GIT_REPOSITORY ${implot_git} GIT_TAG ${implot_tag} GIT_SHALLOW ON)
    FetchContent_MakeAvailable(imgui implot)
    set(imgui_folder ${imgui_SOURCE_DIR} PARENT_SCOPE)
    set(implot_folder ${implot_SOURCE_DIR} PARENT_SCOPE)
endfunction()

# Leaves the archive's folders in the build folder, so that it is fetched once.
function(refit_fetch_pip)
    set(folder ${PROJECT_BINARY_DIR}/_deps/imgui-bundle)
    set(inside imgui_bundle-${imgui_bundle}/external)
    if(NOT EXISTS ${folder}/${inside}/implot/implot/implot.h)
        find_package(Python3 COMPONENTS Interpreter QUIET)
        if(NOT Python3_FOUND)
            return()
        endif()
        message(STATUS "Dear ImGui: fetching imgui-bundle ${imgui_bundle} (54 MB) with pip")
        file(WRITE ${folder}/requirements.txt
            "imgui-bundle==${imgui_bundle} --hash=${imgui_bundle_hash}\n")
        execute_process(
            COMMAND ${Python3_EXECUTABLE} -m pip download -q --no-deps --no-binary imgui-bundle
                --require-hashes -r ${folder}/requirements.txt -d ${folder}
            TIMEOUT 600 RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE trouble)
        if(NOT code EQUAL 0)
            string(REGEX REPLACE "\n.*" "" trouble "${trouble}")
            message(STATUS "Dear ImGui: pip did not get it: ${trouble}")
            return()
        endif()
        execute_process(
            COMMAND ${CMAKE_COMMAND} -E tar xzf imgui_bundle-${imgui_bundle}.tar.gz
                ${inside}/imgui ${inside}/implot
            WORKING_DIRECTORY ${folder})
    endif()
    set(imgui_folder ${folder}/${inside}/imgui/imgui PARENT_SCOPE)
    set(implot_folder ${folder}/${inside}/implot/implot PARENT_SCOPE)
endfunction()

# The first of the folders that holds the file, else nothing.
function(refit_first_with result file)
    set(${result} "" PARENT_SCOPE)
    foreach(folder IN LISTS ARGN)
        if(EXISTS ${folder}/${file})
            set(${result} ${folder} PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()

function(refit_find_imgui)
    set(imgui_folder "")
    set(implot_folder "")
    if(REFIT_IMGUI_ROOT)
        set(root ${REFIT_IMGUI_ROOT})
        refit_first_with(imgui_folder imgui.h ${root}/imgui ${root}/imgui/imgui)
        refit_first_with(implot_folder implot.h ${root}/implot ${root}/implot/implot)
    elseif(NOT REFIT_IMGUI_FETCH STREQUAL OFF)
        set(git OFF)
        if(REFIT_IMGUI_FETCH STREQUAL GIT)
            set(git ON)
        elseif(REFIT_IMGUI_FETCH STREQUAL AUTO)
            refit_git_answers(git)
        endif()
        if(git)
            refit_fetch_git()
        else()
            refit_fetch_pip()
        endif()
    endif()
    # Older ones draw a frame by other arguments.
    set(version 0)
    if(EXISTS "${imgui_folder}/imgui.h")
        file(STRINGS ${imgui_folder}/imgui.h version REGEX "define IMGUI_VERSION_NUM")
        string(REGEX MATCH "[0-9]+" version "${version}")
    endif()
    if(version GREATER_EQUAL ${imgui_least} AND EXISTS "${implot_folder}/implot.h")
        # Kept, so that configuring again asks no network.
        set(REFIT_IMGUI_FOLDERS ${imgui_folder} ${implot_folder} CACHE INTERNAL "")
    endif()
endfunction()

# Says in one line why there is no view.
function(refit_no_view why)
    if(REFIT_VIEW STREQUAL ON)
        message(FATAL_ERROR "REFIT_VIEW=ON, but ${why}")
    endif()
    message(STATUS "refit view is left out: ${why}")
endfunction()

set(REFIT_HAS_VIEW OFF)
if(REFIT_VIEW STREQUAL OFF)
    return()
endif()
find_package(PNG QUIET)
find_package(GIF 5 QUIET)
find_path(REFIT_EGL_HEADERS EGL/egl.h)
find_path(REFIT_GL_HEADERS GL/glext.h)
mark_as_advanced(REFIT_EGL_HEADERS REFIT_GL_HEADERS)
if(NOT PNG_FOUND OR NOT GIF_FOUND OR NOT REFIT_EGL_HEADERS OR NOT REFIT_GL_HEADERS)
    refit_no_view(
        "no libpng, giflib, EGL or GL headers (libpng-dev libgif-dev libegl-dev libgl-dev)")
    return()
endif()
if(NOT REFIT_IMGUI_FOLDERS OR REFIT_IMGUI_ROOT)
    refit_find_imgui()
endif()
if(NOT REFIT_IMGUI_FOLDERS)
    refit_no_view("no Dear ImGui from 1.92.8 on and ImPlot (REFIT_IMGUI_ROOT, REFIT_IMGUI_FETCH)")
    return()
endif()
set(REFIT_HAS_VIEW ON)

list(GET REFIT_IMGUI_FOLDERS 0 imgui_folder)
list(GET REFIT_IMGUI_FOLDERS 1 implot_folder)
add_library(refit_imgui STATIC
    ${imgui_folder}/imgui.cpp
    ${imgui_folder}/imgui_draw.cpp
    ${imgui_folder}/imgui_tables.cpp
    ${imgui_folder}/imgui_widgets.cpp
    ${imgui_folder}/backends/imgui_impl_opengl3.cpp
    ${implot_folder}/implot.cpp
    ${implot_folder}/implot_items.cpp)
add_library(refit::imgui ALIAS refit_imgui)
if(EXISTS ${imgui_folder}/imgui_stacklayout.cpp)  # imgui-bundle's
    target_sources(refit_imgui PRIVATE ${imgui_folder}/imgui_stacklayout.cpp)
endif()
target_include_directories(refit_imgui SYSTEM PUBLIC
    ${imgui_folder} ${imgui_folder}/backends ${implot_folder})
target_compile_definitions(refit_imgui PUBLIC IMGUI_DISABLE_OBSOLETE_FUNCTIONS
    PRIVATE IMGUI_DISABLE_DEMO_WINDOWS IMGUI_DISABLE_DEBUG_TOOLS)
# More than -O1 takes twice the time to compile and saves no time that anybody sees.
target_compile_options(refit_imgui PRIVATE -O1 -w)
target_link_libraries(refit_imgui PUBLIC ${CMAKE_DL_LIBS})
